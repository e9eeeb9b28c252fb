// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// awaitAll returns the records of the batch, or those before the first that cannot
// be had, and why. It reads them whole, before the caller sees the first: a
// caller that deletes or saves in its loop must not change what is still to be
// read of the others.
func (b *entryBatch) awaitAll(ctx context.Context) ([]any, error) {
	records := make([]any, 0, len(b.entries))
	for i := range b.entries {
		v, err := b.awaitEntry(ctx, i)
		if err != nil {
			return records, err
		}
		records = append(records, v)
	}
	return records, nil
}

// entryBatch turns a batch of index entries into records: those that a covering
// entry holds at once, the others by gets that are all under way together.
type entryBatch struct {
	fetches
	ix      *index.Index
	entries []entry
}

type entry struct {
	key, id []byte
	covered []byte // the record as under its key; empty if it must be fetched
	fetch   int    // which of the fetches
}

func (b *entryBatch) startFetches(pairs []kv.KeyValue) error {
	b.entries = make([]entry, len(pairs))
	for i, pair := range pairs {
		e, err := splitEntry(b.ix, pair)
		if err != nil {
			return b.record.indexError(err)
		}
		if len(e.covered) == 0 {
			e.fetch = len(b.values)
			b.fetches.startFetch(e.id)
		}
		b.entries[i] = e
	}
	return nil
}

// splitEntry takes an index entry apart.
func splitEntry(ix *index.Index, pair kv.KeyValue) (e entry, err error) {
	e = entry{key: pair.Key, covered: pair.Value}
	if ix.Unique {
		e.id, e.covered, err = index.SplitUnique(ix.Definition, pair.Key, pair.Value)
		return e, err
	}
	_, e.id, err = ix.Split(pair.Key[len(ix.Prefix):])
	if err != nil {
		err = &index.EntryError{Definition: ix.Definition, Key: slices.Clone(pair.Key), Reason: "the key is damaged", Err: err}
	}
	return e, err
}

func (b *entryBatch) awaitEntry(ctx context.Context, i int) (any, error) {
	e := &b.entries[i]
	if len(e.covered) > 0 {
		return b.record.readValue(ctx, b.reader, e.id, b.records.Append(nil, e.id), e.covered)
	}
	v, err := b.fetches.awaitRecord(ctx, e.fetch)
	if err == nil && v == nil {
		err = b.record.danglingEntry(b.ix, e.key, e.id)
	}
	return v, err
}
