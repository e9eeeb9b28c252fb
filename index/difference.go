// SPDX-License-Identifier: Apache-2.0

package index

// difference walks over the keys that one index has in the stored form of a record
// and in its new form: two ascending lists.
type difference struct {
	stored, entries *Set
	o, oEnd         int // spans of stored that are still to come
	n, nEnd         int // spans of entries that are still to come
}

func newDifference(i int, stored, entries *Set) difference {
	d := difference{stored: stored, entries: entries}
	d.o, d.oEnd = spansOf(stored, i)
	d.n, d.nEnd = spansOf(entries, i)
	return d
}

// step is one key of a difference: the span in which each form has it, -1 in the form
// that has it not.
type step struct{ stored, entries int }

// next returns the next key, or false at the end.
func (d *difference) next() (s step, ok bool) {
	if d.o == d.oEnd && d.n == d.nEnd {
		return s, false
	}
	order := compareAt(d.stored, d.o, d.oEnd, d.entries, d.n, d.nEnd)
	s = step{-1, -1}
	if order <= 0 {
		s.stored = d.o
		d.o++
	}
	if order >= 0 {
		s.entries = d.n
		d.n++
	}
	return s, true
}

// key returns the key of a step.
func (d *difference) key(s step) []byte {
	if s.stored >= 0 {
		return d.stored.entries.key(s.stored)
	}
	return d.entries.entries.key(s.entries)
}
