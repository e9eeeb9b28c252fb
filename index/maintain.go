// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Record is what the maintenance of entries needs to know of a record.
type Record struct {
	ID    []byte // packed
	Value []byte // what covering entries copy: the record, nil if it does not fit into a value; or chosen fields, by [Set.Record]
}

// Claims are the reads of the unique keys that a record is about to own. They
// are started before its stored form is known, so that all reads take one
// round. The zero value is ready; it is reused from record to record.
type Claims struct {
	reads []claim
}

type claim struct {
	index, n int
	owner    kv.Future[[]byte]
}

// Start starts the reads for the entries of a record's new form.
func (c *Claims) Start(tx kv.ReadTransaction, indexes []Index, entries *Set) {
	c.reads = c.reads[:0]
	for i := range indexes {
		if !indexes[i].Unique || indexes[i].State == Disabled {
			continue
		}
		for n := range entries.Keys(i) {
			c.reads = append(c.reads, claim{i, n, tx.Get(entries.Key(i, n))})
		}
	}
}

// Check waits for the reads and returns a *[TakenError] for the first new key
// that another record owns. Keys that the record's stored form has as well are
// not questioned: they are its own, or, while an index is being built over data
// that is not unique, a violation that the build reports. stored may be nil.
// After another Start the same entries may be checked again.
func (c *Claims) Check(ctx context.Context, indexes []Index, entries, stored *Set, id []byte) error {
	for _, r := range c.reads {
		value, err := r.owner.Get(ctx)
		if err != nil {
			return err
		}
		key := entries.Key(r.index, r.n)
		entries.markForeign(r.index, r.n, false)
		if value == nil {
			continue
		}
		ix := &indexes[r.index]
		owner, _, err := SplitUnique(ix.Definition, key, value)
		if err != nil {
			return err
		}
		if bytes.Equal(owner, id) {
			continue
		}
		if stored == nil || !stored.Has(r.index, key) {
			return taken(ix, key, owner)
		}
		entries.markForeign(r.index, r.n, true)
	}
	return nil
}

func taken(ix *Index, key, owner []byte) error {
	values, err := ix.Values(key[len(ix.Prefix):])
	if err != nil {
		return &EntryError{ix.Definition, key, "the key is no tuple", err}
	}
	return &TakenError{ix.Definition, values, slices.Clone(owner)}
}

// SplitUnique cuts the value of a unique entry into the owner's packed id and
// the covered record, which is empty where the entry does not hold it.
func SplitUnique(d *Definition, key, value []byte) (owner, record []byte, err error) {
	record, err = tuple.Skip(value)
	if err != nil {
		return nil, nil, &EntryError{d, slices.Clone(key), "the value does not begin with an id", err}
	}
	return value[:len(value)-len(record)], record, nil
}

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
