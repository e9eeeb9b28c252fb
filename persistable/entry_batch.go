// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// awaitAll returns the records of the batch; after an error, those before it. It
// reads all of them before the caller sees the first, because the caller may delete
// and save in its loop.
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

// entryBatch turns a batch of index entries into records. A covering entry holds
// its record; the other records are read in parallel.
type entryBatch struct {
	fetches
	entries  []entry
	mayBeOld bool // the transaction has written since the entries were read: their records may be gone
	versions versionReads
}

func newEntryBatch(r *record, t *transaction, o *openStore) entryBatch {
	return entryBatch{fetches: fetches{record: r, reader: t.Reader, records: o.records}, versions: newVersionReads(r, t, o)}
}

type entry struct {
	ix      *index.Index
	key, id []byte
	covered []byte // the value under the record's key; empty if it must be fetched
	fields  []byte // the copies of chosen fields
	fetch   int    // index into fetches
}

// startFetches adds entries of one index and starts the reads.
func (b *entryBatch) startFetches(ix *index.Index, pairs []kv.KeyValue) error {
	b.entries = make([]entry, 0, len(pairs))
	for i, pair := range pairs {
		if err := b.addEntry(ix, pair, len(pairs)-i); err != nil {
			return err
		}
	}
	b.start()
	return nil
}

// addEntry adds an entry, of which so many are still to come.
func (b *entryBatch) addEntry(ix *index.Index, pair kv.KeyValue, left int) error {
	e, err := splitEntry(ix, pair)
	if err != nil {
		return b.record.indexError(err)
	}
	if len(e.covered) == 0 {
		if b.keys == nil {
			b.reserve(left, len(e.id))
		}
		e.fetch = len(b.keys)
		b.add(e.id)
	}
	b.versions.add(e.id)
	b.entries = append(b.entries, e)
	return nil
}

// splitEntry takes an index entry apart.
func splitEntry(ix *index.Index, pair kv.KeyValue) (entry, error) {
	e, err := splitCopy(ix, pair)
	if len(ix.CoverFields) > 0 {
		e.fields, e.covered = e.covered, nil
	}
	return e, err
}

// splitCopy takes an index entry apart, whatever it copies.
func splitCopy(ix *index.Index, pair kv.KeyValue) (e entry, err error) {
	e = entry{ix: ix, key: pair.Key, covered: pair.Value}
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

func (b *entryBatch) awaitEntry(ctx context.Context, i int) (v any, err error) {
	e := &b.entries[i]
	if len(e.covered) > 0 {
		v, err = b.record.readValue(ctx, b.reader, e.id, b.records.Append(nil, e.id), e.covered)
	} else {
		v, err = b.fetches.awaitRecord(ctx, e.fetch)
	}
	if err == nil && v == nil && !b.mayBeOld {
		err = b.record.danglingEntry(e.ix, e.key, e.id)
	}
	if err != nil {
		return nil, err
	}
	return v, b.versions.fill(ctx, i, v)
}
