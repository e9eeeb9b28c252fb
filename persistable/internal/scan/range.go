// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Keyspace is where the records of a store are, or the entries of one index. A
// key is a prefix, the shard if they are scattered, and a suffix, which gives
// them their order: the id, or the values.
type Keyspace struct {
	Prefix []byte
	Shards index.Shards
}

// EntriesOf returns where the entries of an index are.
func EntriesOf(ix *index.Index) Keyspace { return Keyspace{ix.Prefix, ix.Scatter} }

// Append appends the key of the record with that packed id to dst.
func (k *Keyspace) Append(dst, id []byte) []byte {
	return append(k.Shards.Append(append(dst, k.Prefix...), id), id...)
}

// Suffix returns the suffix of a key that was read in one of the shards.
func (k *Keyspace) Suffix(key []byte) []byte {
	_, suffix, _ := k.Shards.Cut(key[len(k.Prefix):])
	return suffix
}

// RangesOf returns the ranges of keys that are within bounds, one for each shard.
func (k *Keyspace) RangesOf(b index.Bounds) (all []kv.KeyRange) {
	for i := range max(1, int(k.Shards)) {
		prefix := slices.Clone(k.Prefix)
		if k.Shards > 0 {
			prefix = k.Shards.AppendShard(prefix, i)
		}
		all = append(all, b.Range(prefix))
	}
	return all
}

// CutRecord returns the part of a record's key after the prefix, given that key or
// that of one of the record's chunks. It reports whether key is one of these.
func (k *Keyspace) CutRecord(key []byte) (part []byte, ok bool) {
	if !bytes.HasPrefix(key, k.Prefix) {
		return nil, false
	}
	_, id, err := k.Shards.Cut(key[len(k.Prefix):])
	if err != nil || len(id) == 0 {
		return nil, false
	}
	rest, err := tuple.Skip(id)
	if err != nil {
		return nil, false
	}
	return key[len(k.Prefix) : len(key)-len(rest)], true
}

// Range is a range of a keyspace that is to be read.
type Range struct {
	Keyspace
	Bounds  index.Bounds
	Options kv.RangeOptions // for a range that is not scattered
	AsIs    bool            // as the keys lie: shard after shard
	Records bool            // of records, with chunks that have keys of their own; see OfRecords
	Expect  int             // how many records are wanted; 0 if that is not known
	Lacking func() int      // how many of them are not complete yet; nil if Expect is 0
	Window  *Window         // how many pairs to yield at once; nil: as many as are there

	started *kv.RangeResult // of a range that is not scattered; nil: to be started
}

// Window is how many pairs the caller of Batches takes at once.
type Window struct {
	Most int // at least one
	Took int // how many of those that were yielded the caller has taken: all, unless it says less; at least one
}

// LargestBatch is up to which number of wanted records they are read in one batch.
const LargestBatch = 1000

// Position returns what a cursor after the key holds.
func (r *Range) Position(key []byte) []byte {
	if r.AsIs {
		return key[len(r.Prefix):]
	}
	return r.Suffix(key)
}

// isMerged reports whether the pairs of several shards must be put into order.
func (r *Range) isMerged() bool { return r.Shards != 0 && !r.AsIs }

// Start starts the read, unless it is one of several shards.
func (r *Range) Start(tx *Transaction) {
	if !r.isMerged() {
		pairs := tx.Reader.GetRange(r.Bounds.Range(r.Prefix).Selectors(), r.Options)
		r.started = &pairs
	}
}

// Restarted returns the range with bounds of its own, to be read anew.
func (r Range) Restarted(b index.Bounds) Range {
	r.Bounds, r.started = b, nil
	return r
}

// OfRecords returns the range as one of records. The engine counts their chunks against the
// limit. So Batches reads on without one if the caller wants more by then. The records of
// a batch may be large: it is bounded by its bytes, too.
func (r Range) OfRecords() Range {
	r.Records = true
	if !r.isMerged() && r.Options.Mode == kv.ModeExact {
		r.Options.Mode = kv.ModeWantAll
	}
	return r
}

// Batches yields the pairs in order, in batches, without those that the
// transaction has set since the read began. It reads on in place of these if a
// limit counted them. With a window it yields again what the caller has not taken: as it is
// now, if the transaction has written since.
func (r Range) Batches(ctx context.Context, tx *Transaction) iter.Seq2[[]kv.KeyValue, error] {
	return func(yield func([]kv.KeyValue, error) bool) {
		s := tx.beginScan(&r)
		defer s.end()
		for r.readOn(ctx, tx, s, yield) {
		}
	}
}

// readOn yields pairs, and narrows the range to what is after them. It returns false if
// nothing is left, or if the caller wants no more.
func (r *Range) readOn(ctx context.Context, tx *Transaction, s *freshScan, yield func([]kv.KeyValue, error) bool) bool {
	limit := r.Options.Limit
	limited := limit > 0 && !r.isMerged()
	var last []byte
	yielded, read := 0, 0
	narrow := func() {
		r.Bounds, r.started = r.Bounds.Resume(r.Position(last), r.Options.Reverse), nil
		if limited {
			r.Options.Limit -= yielded
		}
		if r.Lacking != nil {
			r.Expect = r.Lacking()
		}
	}
	for pairs, err := range r.streamBatches(ctx, tx) {
		if err != nil {
			yield(pairs, err)
			return false
		}
		for read += len(pairs); len(pairs) > 0; {
			part := s.dropFresh(pairs, r)
			if len(part) == 0 {
				last = pairs[len(pairs)-1].Key
				break
			}
			part = r.Window.first(part)
			writes := tx.CountWrites()
			if !yield(part, nil) {
				return false
			}
			part = part[:r.Window.taken(len(part))]
			last, yielded = part[len(part)-1].Key, yielded+len(part)
			if pairs = pairsAfter(pairs, last); r.Window != nil && len(pairs) > 0 && tx.CountWrites() != writes {
				narrow()
				return !limited || r.Options.Limit > 0
			}
		}
	}
	hasChunks := r.Records && read >= limit
	if !limited || yielded == read && !hasChunks {
		return false
	}
	if narrow(); hasChunks {
		r.Options.Limit, r.Options.Mode = 0, kv.ModeIterator
	}
	return true
}

// pairsAfter returns the pairs after the one with that key.
func pairsAfter(pairs []kv.KeyValue, key []byte) []kv.KeyValue {
	at := slices.IndexFunc(pairs, func(pair kv.KeyValue) bool { return bytes.Equal(pair.Key, key) })
	return pairs[at+1:]
}

// first returns the pairs to yield at once.
func (w *Window) first(pairs []kv.KeyValue) []kv.KeyValue {
	if w == nil {
		return pairs
	}
	w.Took = min(len(pairs), w.Most)
	return pairs[:w.Took]
}

// taken returns how many of n pairs that were yielded the caller has taken.
func (w *Window) taken(n int) int {
	if w == nil {
		return n
	}
	return w.Took
}

// streamBatches yields the pairs in order, in batches.
func (r *Range) streamBatches(ctx context.Context, tx *Transaction) iter.Seq2[[]kv.KeyValue, error] {
	return func(yield func([]kv.KeyValue, error) bool) {
		if r.isMerged() {
			newMerge(*r, tx).yieldBatches(ctx, yield)
			return
		}
		if r.started == nil {
			r.Start(tx)
		}
		for batch, err := range r.started.Batches(ctx) {
			if !yield(batch.KVs, err) || err != nil {
				return
			}
		}
	}
}

// newLanes returns the lanes of all shards.
func (r *Range) newLanes() []lane {
	lanes := make([]lane, r.Shards)
	for i := range lanes {
		prefix := r.Shards.AppendShard(slices.Clone(r.Prefix), i)
		lanes[i] = lane{prefix: prefix, left: r.Bounds.Range(prefix)}
		lanes[i].unseen = lanes[i].left
	}
	return lanes
}

// nextMode returns how many bytes each shard is asked for in the n-th round, from
// 0, if the number of wanted records is not known: few at first, since the caller
// may stop early, and more the fewer shards there are.
func (r *Range) nextMode(n int) kv.StreamingMode {
	modes := []kv.StreamingMode{kv.ModeSmall, kv.ModeMedium, kv.ModeLarge, kv.ModeSerial}
	if r.Shards <= 16 {
		modes = modes[1:]
	} else {
		modes = modes[:3]
	}
	if r.Options.Mode == kv.ModeWantAll {
		n = len(modes)
	}
	return modes[min(n, len(modes)-1)]
}

// chunkSuffix returns what follows the id in the key of a record or a chunk.
func (r *Range) chunkSuffix(key []byte) []byte {
	rest, err := tuple.Skip(r.Suffix(key))
	if err != nil {
		return nil
	}
	return rest
}

// Transaction is the transaction in which a range is read.
type Transaction struct {
	Reader kv.ReadTransaction
	*Writes
}

// Writes are what the reads of a transaction that writes must know of its writes.
type Writes struct {
	Writer kv.Transaction
	Count  atomic.Int64 // of writes that have ended
	Fresh  FreshKeys
}

// CountWrites returns how many writes have ended; 0 in a transaction that writes nothing.
func (tx *Transaction) CountWrites() int64 {
	if tx.Writes == nil {
		return 0
	}
	return tx.Count.Load()
}

// beginScan notes that the transaction begins to read a range. It returns nil in
// one that writes nothing. The caller calls end.
func (tx *Transaction) beginScan(r *Range) *freshScan {
	if tx.Writes == nil {
		return nil
	}
	f := &tx.Fresh
	s := &freshScan{all: f, prefix: r.Prefix, records: r.Records}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans = append(f.scans, s)
	f.running.Add(1)
	return s
}

// FreshKeys are the keys that a transaction sets while queries of it read on.
// Without them a loop over a query that moves each record ahead in the index would
// never end (the Halloween problem). A query does not yield keys that were set
// since it began.
type FreshKeys struct {
	running atomic.Int64
	mu      sync.Mutex
	scans   []*freshScan
}

// freshScan is what was set in the range of one query since it began.
type freshScan struct {
	all     *FreshKeys
	prefix  []byte
	records bool // keys of records, which go on with the chunks of theirs
	keys    map[string]bool
}

func (s *freshScan) end() {
	if s == nil {
		return
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.scans = slices.DeleteFunc(s.all.scans, func(other *freshScan) bool { return other == s })
	s.all.running.Add(-1)
}

// NoteRecord notes the keys that a put sets and that were not there:
// its own if there was no record before, and its new entries.
func (f *FreshKeys) NoteRecord(key []byte, isNew bool, indexes []index.Index, before, now *index.Set) {
	if f.running.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if isNew {
		f.add(key)
	}
	for i := range indexes {
		if indexes[i].Kind != index.Value {
			continue // the entry of a group is not that of one record
		}
		for n := range now.Keys(i) {
			if key := now.Key(i, n); before == nil || !before.Has(i, key) {
				f.add(key)
			}
		}
	}
}

// add notes a key. f.mu is held.
func (f *FreshKeys) add(key []byte) {
	for _, s := range f.scans {
		if !bytes.HasPrefix(key, s.prefix) {
			continue
		}
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[string(key)] = true
	}
}

// dropFresh returns the pairs but for those that were set since the query began.
func (s *freshScan) dropFresh(pairs []kv.KeyValue, r *Range) []kv.KeyValue {
	if s == nil {
		return pairs
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if len(s.keys) == 0 {
		return pairs
	}
	return slices.DeleteFunc(slices.Clone(pairs), func(pair kv.KeyValue) bool {
		key := pair.Key
		if s.records {
			key = key[:len(key)-len(r.chunkSuffix(key))]
		}
		return s.keys[string(key)]
	})
}
