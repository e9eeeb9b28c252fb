// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Fill writes, in one transaction, the entries of records that are older than their
// index: one batch of an online build. It fills only indexes in the state
// [Building]. The caller makes the transaction conflict with concurrent writes of the
// records. For kinds that are not idempotent (see [Kind.Idempotent]) it makes sure that
// each record is in one committed batch only, that concurrent writes of it conflict
// with that batch, and that they maintain such an index only if the batch is committed.
type Fill struct {
	tx       kv.Transaction
	indexes  []Index
	claims   []uniqueEntry
	owners   map[string][]byte // the unique keys set in this batch
	totals   map[string]total  // by the key of the entry
	elements [][][]byte        // by index: the elements of lists of ranks
	size     int
	buf      []byte
}

// uniqueEntry is an entry of a unique index while the read of its owner runs.
type uniqueEntry struct {
	index  int
	key    []byte
	record Record
	owner  kv.Future[[]byte]
}

// NewFill returns an empty batch.
func NewFill(tx kv.Transaction, indexes []Index) *Fill {
	return &Fill{tx: tx, indexes: indexes, owners: map[string][]byte{}, totals: map[string]total{}}
}

// Add adds a record. It keeps r's bytes, but copies from entries.
func (f *Fill) Add(entries *Set, r Record) {
	for i := range f.indexes {
		ix := &f.indexes[i]
		if ix.State != Building {
			continue
		}
		switch ix.Kind {
		case Value:
			f.addEntries(i, entries, r)
		case Count, Sum:
			f.addToTotals(i, entries)
		case Rank:
			f.addToRanks(i, entries)
		case Version:
			f.addToVersions(i, entries)
		}
	}
}

// addEntries writes the entries of a record in index i, of values. If the index is
// unique it starts the reads of their owners.
func (f *Fill) addEntries(i int, entries *Set, r Record) {
	ix := &f.indexes[i]
	r = entries.Record(i, ix, r)
	if len(ix.CoverFields) > 0 {
		r.Value = slices.Clone(r.Value)
	}
	for n := range entries.Keys(i) {
		key := entries.Key(i, n)
		f.size += ix.fillSize(key, r)
		if !ix.Unique {
			f.setEntry(ix, key, r)
			continue
		}
		f.claims = append(f.claims, uniqueEntry{i, slices.Clone(key), r, f.tx.Get(key)})
	}
}

// Size returns about how many bytes the records added so far take of
// [kv.MaxTransactionSize], with the entries that Finish will write.
func (f *Fill) Size() int { return f.size }

// What an engine adds to the bytes of one entry: for its mutation, and for each
// of its conflict ranges.
const (
	plainOverhead  = 70
	uniqueOverhead = 100
)

func (f *Fill) setEntry(ix *Index, key []byte, r Record) {
	f.buf = ix.AppendValue(f.buf[:0], r)
	f.tx.Set(key, f.buf)
}

// Finish writes counts, sums, ranks, and the entries of unique indexes. A record with values
// that another one owns is recorded as a violation and gets no entry.
func (f *Fill) Finish(ctx context.Context) error {
	f.addTotals()
	if err := f.insertRanks(ctx); err != nil {
		return err
	}
	for _, c := range f.claims {
		ix := &f.indexes[c.index]
		owner, err := f.owner(ctx, ix, c)
		if err != nil {
			return err
		}
		if owner != nil && !bytes.Equal(owner, c.record.ID) {
			recordViolation(f.tx, ix, c.key, c.record.ID, owner)
			continue
		}
		f.setEntry(ix, c.key, c.record)
		f.owners[string(c.key)] = c.record.ID
	}
	return nil
}

func (f *Fill) owner(ctx context.Context, ix *Index, c uniqueEntry) ([]byte, error) {
	if owner, ok := f.owners[string(c.key)]; ok {
		return owner, nil
	}
	value, err := c.owner.Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	owner, _, err := SplitUnique(ix.Definition, c.key, value)
	return owner, err
}

// total is what the records of a batch add to one entry of a count or a sum. The batch
// adds it at once: a group has one operation in a transaction, however many records.
type total struct {
	index  int
	amount Amount
}

// addToTotals adds a record to the totals of index i, a count or a sum.
func (f *Fill) addToTotals(i int, entries *Set) {
	ix := &f.indexes[i]
	from, to := entries.bounds(i)
	for n := from; n < to; n++ {
		amount := IntAmount(1)
		if ix.Kind == Sum {
			amount = entries.entries.amount(n)
		}
		key := entries.entries.key(n)
		t, known := f.totals[string(key)]
		if !known {
			t.index = i
			f.size += 2 * ix.fillSize(key, Record{})
		}
		t.amount = t.amount.Add(amount)
		f.totals[string(key)] = t
	}
}

// addTotals writes the totals.
func (f *Fill) addTotals() {
	for _, key := range slices.Sorted(maps.Keys(f.totals)) {
		t := f.totals[key]
		if t.amount.IsZero() {
			continue
		}
		m := maintenance{tx: f.tx, ix: &f.indexes[t.index], buf: f.buf[:0]}
		if m.ix.Kind == Sum {
			m.add([]byte(key), t.amount.AppendBytes(m.buf))
		} else {
			n, _ := t.amount.Int64()
			m.add([]byte(key), AppendCount(m.buf, n))
		}
		f.buf = m.buf
	}
}

// addToVersions makes room for the versions that the caller sets of a record.
func (f *Fill) addToVersions(i int, entries *Set) {
	for n := range entries.Keys(i) {
		f.size += rankLevels * f.indexes[i].fillSize(entries.Key(i, n), Record{})
	}
}

// rankLevels is about how many keys one element of a skip list changes.
const rankLevels = 8

// addToRanks adds the elements of a record in index i, a list of ranks. The batch inserts
// all elements at once, so that their reads are one round.
func (f *Fill) addToRanks(i int, entries *Set) {
	if f.elements == nil {
		f.elements = make([][][]byte, len(f.indexes))
	}
	ix := &f.indexes[i]
	for n := range entries.Keys(i) {
		key := entries.Key(i, n)
		f.size += rankLevels * ix.fillSize(key, Record{})
		f.elements[i] = append(f.elements[i], slices.Clone(key[len(ix.Prefix):]))
	}
}

// insertRanks writes the elements. Those that a concurrent write has inserted are there
// already, and are left out.
func (f *Fill) insertRanks(ctx context.Context) error {
	var all rankUpdates
	for i, elements := range f.elements {
		if len(elements) > 0 {
			all = append(all, f.indexes[i].Ranks().Start(f.tx, nil, elements))
		}
	}
	err := all.plan(ctx)
	if err == nil {
		all.write()
	}
	return err
}
