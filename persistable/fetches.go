// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// fetches are reads of records that are started together, in one round.
type fetches struct {
	record  *record
	reader  kv.ReadTransaction
	records scan.Keyspace
	keys    [][]byte
	packed  []byte // the bytes of keys
	values  []kv.Future[[]byte]
	scratch *scratch // that the records share; nil: each has its own
	read    int      // how many bytes the records have that were awaited
}

// reserve makes room for n records with ids of about so many bytes.
func (f *fetches) reserve(n, idSize int) {
	f.keys = slices.Grow(f.keys, n)
	f.values = slices.Grow(f.values, n)
	f.packed = slices.Grow(f.packed, n*(len(f.records.Prefix)+shardSize+idSize))
}

// shardSize is room for the number of a shard, in bytes.
const shardSize = 3

// add adds the record with that packed id.
func (f *fetches) add(id []byte) {
	first := len(f.packed)
	f.packed = f.records.Append(f.packed, id)
	f.keys = append(f.keys, f.packed[first:len(f.packed):len(f.packed)])
}

// start starts the reads of all records that were added.
func (f *fetches) start() {
	if len(f.keys) > 0 {
		f.values = kv.AppendGets(f.values, f.reader, f.keys)
	}
}

// awaitRecord returns the i-th record, nil if there is none.
func (f *fetches) awaitRecord(ctx context.Context, i int) (any, error) {
	value, err := f.values[i].Get(ctx)
	if err != nil || value == nil {
		return nil, err
	}
	whole, err := f.record.readWhole(ctx, f.reader, f.id(i), f.keys[i], value)
	if err != nil {
		return nil, err
	}
	f.read += len(whole.Payload)
	if f.scratch == nil {
		return f.record.decodeRecord(whole, f.id(i), f.keys[i])
	}
	if i == 0 {
		f.scratch.strings.Expect(len(f.values) * len(value)) // the others are alike, perhaps
	}
	return f.record.decodeWith(f.scratch, whole, f.id(i), f.keys[i])
}

// id returns the packed id of the i-th record.
func (f *fetches) id(i int) []byte { return f.records.Suffix(f.keys[i]) }

// entryBatch turns a batch of index entries into records. A covering entry holds
// its record; the other records are read in parallel. After release it, and what its
// methods have returned, must not be used.
type entryBatch struct {
	fetches
	entries  []entry
	taken    []any        // the records
	tx       *transaction // nil: no entry is old
	writes   int64        // how many the transaction had made before the entries were read
	versions versionReads
}

var entryBatches = sync.Pool{New: func() any { return new(entryBatch) }}

func newEntryBatch(r *record, t *transaction, o *openStore) *entryBatch {
	b := entryBatches.Get().(*entryBatch)
	b.record, b.reader, b.records, b.scratch, b.versions = r, t.Reader, o.records, getScratch(), newVersionReads(r, t, o)
	return b
}

// mostKept is the number of entries up to which a batch keeps its memory for another.
const mostKept = scan.LargestBatch

// release makes the memory of the batch, but for that of its records, available to
// another.
func (b *entryBatch) release() {
	b.scratch.release()
	if cap(b.entries) > mostKept {
		return
	}
	clear(b.entries)
	clear(b.keys)
	clear(b.taken)
	clear(b.values)
	*b = entryBatch{
		fetches: fetches{keys: b.keys[:0], packed: b.packed[:0], values: b.values[:0]},
		entries: b.entries[:0], taken: b.taken[:0],
	}
	entryBatches.Put(b)
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
	b.entries = slices.Grow(b.entries, len(pairs))
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
		if len(b.keys) == 0 {
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

// awaitSome returns the next records of the batch, as many as have mostRecordBytes together and
// at least one; after an error, those before it. It reads all of them before the caller
// sees the first, because the caller may delete and save in its loop.
func (b *entryBatch) awaitSome(ctx context.Context) ([]any, error) {
	b.taken = slices.Grow(b.taken, len(b.entries))
	for i := range b.entries {
		v, err := b.awaitEntry(ctx, i)
		if err != nil {
			return b.taken, err
		}
		if b.taken = append(b.taken, v); b.read >= mostRecordBytes {
			break
		}
	}
	return b.taken, nil
}

func (b *entryBatch) awaitEntry(ctx context.Context, i int) (v any, err error) {
	e := &b.entries[i]
	if len(e.covered) > 0 {
		v, err = b.readCovered(ctx, e, len(b.entries)-i)
	} else {
		v, err = b.fetches.awaitRecord(ctx, e.fetch)
	}
	if err == nil && v == nil && !b.isOld() {
		err = b.record.danglingEntry(e.ix, e.key, e.id)
	}
	if err != nil {
		return nil, err
	}
	return v, b.versions.fill(ctx, i, v)
}

// readBefore notes how many writes the transaction had made before the entries were read.
func (b *entryBatch) readBefore(t *transaction, writes int64) { b.tx, b.writes = t, writes }

// isOld reports whether the transaction has written since the entries were read: their records may be gone, or others.
func (b *entryBatch) isOld() bool { return b.tx != nil && b.tx.CountWrites() != b.writes }

// readCovered returns the record that a covering entry holds. So many entries of the
// batch are left.
func (b *entryBatch) readCovered(ctx context.Context, e *entry, left int) (any, error) {
	sc := b.scratch
	if left == len(b.entries) {
		sc.strings.Expect(left * len(e.covered)) // the others are alike, perhaps
	}
	b.read += len(e.covered)
	sc.key = b.records.Append(sc.key[:0], e.id)
	return b.record.readWith(ctx, sc, b.reader, e.id, sc.key, e.covered)
}

const (
	mostRecordBytes = 2 << 20 // of the records that a query reads before it yields the first of them
	firstRecords    = 128     // are fetched at once while their size is not known
)

// recordWindow is how many records a query fetches at once. Large ones are few, so that
// they do not fill the memory.
type recordWindow struct {
	scan.Window
	count, bytes int // of the records that were read
}

func newRecordWindow() *recordWindow { return &recordWindow{Window: scan.Window{Most: firstRecords}} }

// note notes that so many records of a batch were read.
func (w *recordWindow) note(n, bytes int) {
	w.Took, w.count, w.bytes = n, w.count+n, w.bytes+bytes
	if w.count > 0 {
		w.Most = max(1, mostRecordBytes/max(1, w.bytes/w.count))
	}
}
