// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
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
	totals   map[string]Total  // by the key of the entry
	elements [][][]byte        // by index: what an update inserts
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
	return &Fill{tx: tx, indexes: indexes, owners: map[string][]byte{}, totals: map[string]Total{}}
}

// Add adds a record. It keeps r's bytes, but copies from entries.
func (f *Fill) Add(entries *Set, r Record) {
	for i := range f.indexes {
		ix := &f.indexes[i]
		if ix.State != Building {
			continue
		}
		if fill := ix.Kind.descriptor().fill; fill != nil {
			fill(f, i, entries, r)
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

// Finish writes counts, sums, what needs updates, and the entries of unique indexes. A record
// with values that another one owns is recorded as a violation and gets no entry.
func (f *Fill) Finish(ctx context.Context) error {
	f.addTotals()
	if err := f.insertElements(ctx); err != nil {
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

// updatedKeys is about how many keys an update changes for one entry.
const updatedKeys = 8

// addElements adds the entries of a record in index i, of a kind with updates. The batch
// inserts all of them at once, so that their reads are one round.
func (f *Fill) addElements(i int, entries *Set, _ Record) {
	if f.elements == nil {
		f.elements = make([][][]byte, len(f.indexes))
	}
	ix := &f.indexes[i]
	for n := range entries.Keys(i) {
		key := entries.Key(i, n)
		f.size += updatedKeys * ix.fillSize(key, Record{})
		f.elements[i] = append(f.elements[i], slices.Clone(key[len(ix.Prefix):]))
	}
}

// insertElements writes them. Those that a concurrent write has inserted are there already,
// and are left out.
func (f *Fill) insertElements(ctx context.Context) error {
	var all updates
	for i, elements := range f.elements {
		if len(elements) > 0 {
			ix := &f.indexes[i]
			all = append(all, ix.Kind.descriptor().update(f.tx, ix, nil, elements))
		}
	}
	return all.run(ctx)
}
