// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// entryBatch turns a batch of index entries into records. A covering entry holds
// its record; the other records are read in parallel. After release it, and what its
// methods have returned, must not be used.
type entryBatch struct {
	fetches
	entries  []entry
	taken    []any // the records
	mayBeOld bool  // the transaction has written since the entries were read: their records may be gone
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
	if err == nil && v == nil && !b.mayBeOld {
		err = b.record.danglingEntry(e.ix, e.key, e.id)
	}
	if err != nil {
		return nil, err
	}
	return v, b.versions.fill(ctx, i, v)
}

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

// entryList reads all keys that a store has because of one record.
type entryList struct {
	source *source
	reader kv.ReadTransaction
	store  *openStore
	id     []byte
	key    []byte // of the record
	whole  format.Record
	all    []erased.Entry
}

// readRecord reads the record's own keys.
func (e *entryList) readRecord(ctx context.Context) error {
	e.key = e.store.records.Append(nil, e.id)
	value, err := e.reader.Get(e.key).Get(ctx)
	if err != nil {
		return err
	}
	if value == nil {
		return e.source.notFound(e.id)
	}
	if e.whole, err = e.source.record.readWhole(ctx, e.reader, e.id, e.key, value); err != nil {
		return err
	}
	e.add("", index.Value, e.key, value)
	for i := range e.whole.Chunks {
		key := format.AppendChunk(slices.Clone(e.key), i+1)
		part, err := e.reader.Get(key).Get(ctx) // it was read: the engine has it in memory, or near
		if err != nil {
			return err
		}
		e.add("", index.Value, key, part)
	}
	return nil
}

// readIndexes reads the record's keys in the indexes that are maintained.
func (e *entryList) readIndexes(ctx context.Context) error {
	r := e.source.record
	v, err := r.decodeRecord(e.whole, e.id, e.key)
	if err != nil {
		return err
	}
	var set index.Set
	if err := r.gatherBoth(&set, e.store, e.id, e.key, v, e.whole.Payload); err != nil {
		return err
	}
	for i := range e.store.maintained {
		ix := &e.store.maintained[i]
		if ix.Kind == index.Version {
			err = e.readVersion(ctx, ix)
		} else {
			err = e.readIndex(ctx, ix, &set, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readIndex reads the record's keys in an index, all in parallel.
func (e *entryList) readIndex(ctx context.Context, ix *index.Index, set *index.Set, i int) error {
	reads := make([]kv.Future[[]byte], set.Keys(i))
	for n := range reads {
		reads[n] = e.reader.Get(set.Key(i, n))
	}
	for n, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return err
		}
		e.add(ix.KeyName(), ix.Kind, slices.Clone(set.Key(i, n)), value)
		e.all[len(e.all)-1].Tuple = describeEntry(ix, set.Key(i, n))
	}
	return nil
}

// readVersion reads the two keys of the record's last change.
func (e *entryList) readVersion(ctx context.Context, ix *index.Index) error {
	if ix.State == index.Disabled {
		return nil
	}
	key := append(ix.Versions(), e.id...)
	version, err := e.reader.Get(key).Get(ctx)
	if err != nil {
		return err
	}
	e.add(ix.KeyName(), ix.Kind, key, version)
	if len(version) != index.VersionSize {
		return nil
	}
	key = ix.AppendVersionEntry(nil, version, e.id)
	value, err := e.reader.Get(key).Get(ctx)
	if err == nil {
		e.add(ix.KeyName(), ix.Kind, key, value)
	}
	return err
}

// add adds a key that is a tuple behind the prefix of the directory.
func (e *entryList) add(name string, kind index.Kind, key, value []byte) {
	t, _ := tuple.Unpack(key[len(e.store.prefix):]) // nil: keys of descending values
	e.all = append(e.all, erased.Entry{Index: name, Kind: kind, Key: key, Tuple: t, Value: value})
}

// describeEntry returns an entry's key as a tuple: ("I", name, shard, values…, id).
func describeEntry(ix *index.Index, key []byte) tuple.Tuple {
	all := tuple.Tuple{"I", ix.KeyName()}
	if space := scan.EntriesOf(ix); space.Shards > 0 {
		shard, _, _ := ix.Scatter.Cut(key[len(ix.Prefix):])
		all = append(all, int64(shard))
	}
	packed, id, err := ix.Split(key[len(ix.Prefix):])
	if err != nil {
		return nil
	}
	values, err1 := ix.Values(packed)
	last, err2 := tuple.Unpack(id)
	if err1 != nil || err2 != nil {
		return nil
	}
	return slices.Concat(all, values, last)
}
