// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/rank"
	"github.com/kazahana-db/kazahana/kv"
)

// Change is the difference between the entries of a record's stored form and those of its
// new form, about to be written. Nothing else may write the record's entries between Plan
// and Write.
type Change struct {
	tx              kv.Transaction
	indexes         []Index
	stored, entries *Set
	ranks           rankUpdates
}

// Plan does all of a change that can fail, and writes nothing: the reads of lists of ranks,
// one round where the keys differ, and their conflict ranges, which are those of package
// rank. Either set may be nil: there is no such form.
func Plan(ctx context.Context, tx kv.Transaction, indexes []Index, stored, entries *Set) (Change, error) {
	c := Change{tx: tx, indexes: indexes, stored: stored, entries: entries}
	for i := range indexes {
		if ix := &indexes[i]; ix.State != Disabled && ix.Kind == Rank {
			c.ranks = c.ranks.startRanks(tx, ix, newDifference(i, stored, entries))
		}
	}
	return c, c.ranks.plan(ctx)
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
		if ix.State == Disabled {
			continue
		}
		m := maintenance{tx: c.tx, ix: ix, was: was, is: is, buf: buf}
		if ix.Kind == Value {
			m.was, m.is = c.stored.Record(i, ix, was), c.entries.Record(i, ix, is)
			m.rewrite = ix.copies() && !bytes.Equal(m.was.Value, m.is.Value)
			m.mergeKeys(i, c.stored, c.entries)
		} else {
			m.maintainTotals(newDifference(i, c.stored, c.entries))
		}
		buf = m.buf
	}
	c.ranks.write()
	return buf
}

type maintenance struct {
	tx      kv.Transaction
	ix      *Index
	was, is Record
	rewrite bool // unchanged keys have a new value
	buf     []byte
}

// maintainTotals maintains an index of counts or sums. It writes nothing for the other
// kinds: a list of ranks has its update, and an entry of an index of versions depends on
// the version that the record had and on what else the transaction has written. The caller
// knows both, and calls [Index.SetVersion].
func (m *maintenance) maintainTotals(d difference) {
	switch m.ix.Kind {
	case Count:
		m.maintainCount(d)
	case Sum:
		m.maintainSum(d)
	}
}

// mergeKeys walks over the two ascending lists of keys of index i.
func (m *maintenance) mergeKeys(i int, stored, entries *Set) {
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

// CountSize is the length of a stored count in bytes.
const CountSize = 8

// zeroes are the stored forms of a count and of a sum that are 0.
var zeroes [AmountSize]byte

// maintainCount adds one to the groups that the record comes into, and takes one from
// those that it leaves. The entry of a group without records is removed, so that
// groups that once existed do not pile up.
func (m *maintenance) maintainCount(d difference) {
	for s, ok := d.next(); ok; s, ok = d.next() {
		switch {
		case s.stored < 0:
			m.buf = AppendCount(m.buf[:0], 1)
			m.tx.Atomic(kv.Add, d.key(s), m.buf) // the result is no 0
		case s.entries < 0:
			m.add(d.key(s), AppendCount(m.buf[:0], -1))
		}
	}
}

// add adds a little-endian number to that under key, and removes the key if the result
// is 0. Neither operation reads: they conflict with no concurrent write.
func (m *maintenance) add(key, number []byte) {
	m.buf = number
	m.tx.Atomic(kv.Add, key, number)
	m.tx.Atomic(kv.CompareAndClear, key, zeroes[:len(number)])
}

// AppendCount appends the stored form of a count: 8 bytes, little-endian, two's
// complement.
func AppendCount(dst []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(n)) }

// ReadCount reads a stored count. No bytes, as a key that is not there has, are 0.
func ReadCount(value []byte) (int64, error) {
	switch len(value) {
	case 0:
		return 0, nil
	case CountSize:
		return int64(binary.LittleEndian.Uint64(value)), nil
	}
	return 0, fmt.Errorf("index: a count has %d bytes, want %d", len(value), CountSize)
}

// maintainSum adds the record's amount to the sums of its groups, and takes away what
// its stored form had added. A sum of 0 has no entry.
func (m *maintenance) maintainSum(d difference) {
	for s, ok := d.next(); ok; s, ok = d.next() {
		var change Amount
		if s.entries >= 0 {
			change = d.entries.entries.amount(s.entries)
		}
		if s.stored >= 0 {
			change = change.Add(d.stored.entries.amount(s.stored).Negate())
		}
		if !change.IsZero() {
			m.add(d.key(s), change.AppendBytes(m.buf[:0]))
		}
	}
}

// rankUpdates are updates of lists of ranks that have started their reads: all lists
// of a record are read in one round.
type rankUpdates []*rank.Update

// startRanks starts the update of an index's list. The keys of d are group, score and
// id; what follows the prefix is an element. Where the keys do not differ nothing is read.
func (u rankUpdates) startRanks(tx kv.Transaction, ix *Index, d difference) rankUpdates {
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
	return append(u, ix.Ranks().Start(tx, erase, insert))
}

// plan waits for the reads of the updates.
func (u rankUpdates) plan(ctx context.Context) error {
	for _, update := range u {
		if err := update.Plan(ctx); err != nil {
			return err
		}
	}
	return nil
}

// write completes the updates, which were planned.
func (u rankUpdates) write() {
	for _, update := range u {
		update.Write()
	}
}
