// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Change is the difference between the entries of a record's stored form and those of its
// new form, about to be written. Nothing else may write the record's entries between Plan
// and Write.
type Change struct {
	tx              kv.Transaction
	indexes         []Index
	stored, entries *Set
	updates         updates
	work            maintenance // of one index at a time; here, so that Write allocates none
}

// Plan does all of a change that can fail, and writes nothing. For indexes of kinds that
// read before they write, such as ranks, it makes these reads, in one round and only where
// keys differ, and adds the conflict ranges. Either set may be nil: there is no such form.
func Plan(ctx context.Context, tx kv.Transaction, indexes []Index, stored, entries *Set) (Change, error) {
	c := Change{tx: tx, indexes: indexes, stored: stored, entries: entries}
	for i := range indexes {
		if ix := &indexes[i]; ix.State != Disabled && ix.Kind.descriptor().update != nil {
			c.updates = c.updates.start(tx, ix, newDifference(i, stored, entries))
		}
	}
	return c, c.updates.plan(ctx)
}

// Write writes the change. was and is are the stored form and the new one. buf is room for
// values and is returned, perhaps grown.
//
// An entry of a unique index is cleared only if it is the record's own
// (compare-and-clear), so that nothing that happened in between is undone. Counts and
// sums are changed by atomic operations: they read nothing and conflict with no other
// write.
func (c *Change) Write(was, is Record, buf []byte) []byte {
	for i := range c.indexes {
		ix := &c.indexes[i]
		maintain := ix.Kind.descriptor().maintain
		if ix.State == Disabled || maintain == nil {
			continue
		}
		c.work = maintenance{tx: c.tx, ix: ix, was: was, is: is, buf: buf}
		maintain(&c.work, i, c.stored, c.entries)
		buf = c.work.buf
	}
	c.updates.write()
	return buf
}

type maintenance struct {
	tx      kv.Transaction
	ix      *Index
	was, is Record
	rewrite bool // unchanged keys have a new value
	buf     []byte
}

// Value is the kind with one entry for each record and key, from which the record is found.
const Value Kind = ""

var valueKind = descriptor{
	kind: Value, idempotent: true, hasEntries: true, endsInID: true, needsFields: true,
	maintain: (*maintenance).maintainEntries, fill: (*Fill).addEntries,
}

// maintainEntries maintains an index of values: it walks over the two ascending lists of
// keys of index i.
func (m *maintenance) maintainEntries(i int, stored, entries *Set) {
	m.was, m.is = stored.Record(i, m.ix, m.was), entries.Record(i, m.ix, m.is)
	m.rewrite = m.ix.copies() && !bytes.Equal(m.was.Value, m.is.Value)
	o, oEnd := spansOf(stored, i)
	n, nEnd := spansOf(entries, i)
	for o < oEnd || n < nEnd {
		switch order := compareAt(stored, o, oEnd, entries, n, nEnd); {
		case order < 0:
			m.clearEntry(stored.entries.key(o))
			o++
		case order > 0:
			m.setEntry(entries.entries.key(n))
			n++
		default:
			if m.rewrite && !entries.entries.spans[n].foreign {
				m.setEntry(entries.entries.key(n))
			}
			o++
			n++
		}
	}
}

func spansOf(s *Set, i int) (from, to int) {
	if s == nil {
		return 0, 0
	}
	return s.bounds(i)
}

func compareAt(a *Set, i, iEnd int, b *Set, j, jEnd int) int {
	switch {
	case i == iEnd:
		return 1
	case j == jEnd:
		return -1
	}
	return bytes.Compare(a.entries.key(i), b.entries.key(j))
}

func (m *maintenance) setEntry(key []byte) {
	m.buf = m.ix.AppendValue(m.buf[:0], m.is)
	m.tx.Set(key, m.buf)
}

func (m *maintenance) clearEntry(key []byte) {
	if !m.ix.Unique {
		m.tx.Clear(key)
		return
	}
	m.buf = m.ix.AppendValue(m.buf[:0], m.was)
	m.tx.Atomic(kv.CompareAndClear, key, m.buf)
	if m.ix.State == Building {
		m.tx.Clear(violationKey(m.ix, key, m.was.ID))
	}
}

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

// update writes entries that depend on what is stored. [*rank.Update] is one.
type update interface {
	// Plan waits for the reads that the update has started. It writes nothing.
	Plan(ctx context.Context) error
	// Write completes an update that was planned.
	Write()
}

// updates are updates that have started their reads: all those of a record are read in
// one round.
type updates []update

// start starts the update of an index for a difference. What follows the prefix of a key
// is the element that it erases or inserts. Where the keys do not differ nothing is read.
func (u updates) start(tx kv.Transaction, ix *Index, d difference) updates {
	var erase, insert [][]byte
	for s, ok := d.next(); ok; s, ok = d.next() {
		element := d.key(s)[len(ix.Prefix):]
		switch {
		case s.entries < 0:
			erase = append(erase, element)
		case s.stored < 0:
			insert = append(insert, element)
		}
	}
	if len(erase) == 0 && len(insert) == 0 {
		return u
	}
	return append(u, ix.Kind.descriptor().update(tx, ix, erase, insert))
}

// plan waits for the reads of the updates.
func (u updates) plan(ctx context.Context) error {
	for _, one := range u {
		if err := one.Plan(ctx); err != nil {
			return err
		}
	}
	return nil
}

// write completes the updates, which were planned.
func (u updates) write() {
	for _, one := range u {
		one.Write()
	}
}

// run plans and completes the updates.
func (u updates) run(ctx context.Context) error {
	err := u.plan(ctx)
	if err == nil {
		u.write()
	}
	return err
}
