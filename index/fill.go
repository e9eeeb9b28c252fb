// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Fill writes, in one transaction, the entries of records that were there
// before their index: one batch of an online build. Only indexes in the state
// [Building] are filled. Writers that maintain the index meanwhile and the
// transaction see each other: the records must be read in the transaction
// itself, not as a snapshot.
type Fill struct {
	tx      kv.Transaction
	indexes []Index
	claims  []filling
	owners  map[string][]byte // the unique keys set in this batch
	written int
	buf     []byte
}

type filling struct {
	index  int
	key    []byte
	record Record
	owner  kv.Future[[]byte]
}

// NewFill returns an empty batch.
func NewFill(tx kv.Transaction, indexes []Index) *Fill {
	return &Fill{tx: tx, indexes: indexes, owners: map[string][]byte{}}
}

// Add adds a record. It keeps nothing of entries, but r's bytes.
func (f *Fill) Add(entries *Set, r Record) {
	for i := range f.indexes {
		ix := &f.indexes[i]
		if ix.State != Building {
			continue
		}
		for n := range entries.Keys(i) {
			key := entries.Key(i, n)
			if !ix.Unique {
				f.set(ix, key, r)
				continue
			}
			f.claims = append(f.claims, filling{i, slices.Clone(key), r, f.tx.Get(key)})
		}
	}
}

// Written returns how many bytes of keys and values were written so far.
func (f *Fill) Written() int { return f.written }

func (f *Fill) set(ix *Index, key []byte, r Record) {
	f.buf = ix.AppendValue(f.buf[:0], r)
	f.tx.Set(key, f.buf)
	f.written += len(key) + len(f.buf)
}

// Finish writes the entries of unique indexes. A record with values that
// another one owns is recorded as a violation and gets no entry.
func (f *Fill) Finish(ctx context.Context) error {
	for _, c := range f.claims {
		ix := &f.indexes[c.index]
		owner, err := f.owner(ctx, ix, c)
		if err != nil {
			return err
		}
		if owner != nil && !bytes.Equal(owner, c.record.ID) {
			f.tx.Set(violationKey(ix, c.key, c.record.ID), owner)
			continue
		}
		f.set(ix, c.key, c.record)
		f.owners[string(c.key)] = c.record.ID
	}
	return nil
}

func (f *Fill) owner(ctx context.Context, ix *Index, c filling) ([]byte, error) {
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

// Violation is a record that has the values of a unique index which another
// record owns, found by a build.
type Violation struct {
	Key    []byte // of the unique entry
	Record []byte // the packed id of the record without an entry
	Owner  []byte // the packed id of the owner when it was found

	record []byte // the violation's own key
}

// Violations reads up to limit violations behind a key that an earlier call
// returned (nil at first), and returns the key to go on from, nil at the end.
func (ix *Index) Violations(ctx context.Context, tx kv.ReadTransaction, after []byte, limit int) ([]Violation, []byte, error) {
	r := Bounds{}.Range(ix.ViolationPrefix)
	if after != nil {
		r.Begin = kv.KeyAfter(after)
	}
	pairs, err := tx.GetRange(r.Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil {
		return nil, nil, err
	}
	var all []Violation
	for _, pair := range pairs {
		suffix := pair.Key[len(ix.ViolationPrefix):]
		as := *ix.Definition
		as.Unique = false // values and id, as in a plain entry
		values, id, err := as.Split(suffix)
		if err != nil {
			return nil, nil, &EntryError{ix.Definition, slices.Clone(pair.Key), "the violation's key is damaged", err}
		}
		all = append(all, Violation{slices.Concat(ix.Prefix, values), id, pair.Value, pair.Key})
	}
	if len(pairs) < limit {
		return all, nil, nil
	}
	return all, pairs[len(pairs)-1].Key, nil
}

// Settle looks at a violation again, given the entries that its record has now
// (nil if it is gone), and removes it if it is none any more: the record has
// other values, or the owner has. It returns the owner if it still is one.
func (ix *Index) Settle(ctx context.Context, tx kv.Transaction, i int, v Violation, entries *Set, r Record) (owner []byte, err error) {
	if entries != nil && entries.Has(i, v.Key) {
		value, err := tx.Get(v.Key).Get(ctx)
		if err != nil {
			return nil, err
		}
		if value == nil {
			tx.Set(v.Key, ix.AppendValue(nil, r))
		} else if owner, _, err = SplitUnique(ix.Definition, v.Key, value); err != nil {
			return nil, err
		}
		if owner != nil && !bytes.Equal(owner, r.ID) {
			return owner, nil
		}
	}
	tx.Clear(v.record)
	return nil, nil
}

// Clear removes all entries and violations.
func (ix *Index) Clear(tx kv.Transaction) {
	tx.ClearRange(Bounds{}.Range(ix.Prefix))
	tx.ClearRange(Bounds{}.Range(ix.ViolationPrefix))
}
