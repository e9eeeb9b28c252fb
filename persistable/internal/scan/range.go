// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Range is a range of a keyspace that is to be read.
type Range struct {
	Keyspace
	Bounds  index.Bounds
	Options kv.RangeOptions // for a range that is not scattered
	AsIs    bool            // as the keys lie: shard behind shard
	Records bool            // of records, whose chunks have keys of their own
	Expect  int             // how many records are wanted; 0 if that is not known
	Lacking func() int      // how many of them are not complete yet; nil if Expect is 0

	started *kv.RangeResult // of a range that is not scattered; nil: to be started
}

// LargestBatch is up to which number of wanted records they are read in one batch.
const LargestBatch = 1000

// Position returns what a cursor behind the key holds.
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

// Batches yields the pairs in order, in batches, without those that the
// transaction has set since the read began. It reads on in place of these if a
// limit counted them.
func (r Range) Batches(ctx context.Context, tx *Transaction) iter.Seq2[[]kv.KeyValue, error] {
	return func(yield func([]kv.KeyValue, error) bool) {
		s := tx.beginScan(&r)
		defer s.end()
		for missing := 1; missing > 0; {
			missing = 0
			var last []byte
			for pairs, err := range r.streamBatches(ctx, tx) {
				if n := len(pairs); n > 0 {
					last = pairs[n-1].Key
					pairs = s.dropFresh(pairs, &r)
					if missing += n - len(pairs); len(pairs) == 0 {
						continue
					}
				}
				if !yield(pairs, err) || err != nil {
					return
				}
			}
			if r.Options.Limit == 0 || r.isMerged() || missing == 0 {
				return
			}
			r.Bounds, r.Options.Limit, r.started = r.Bounds.Resume(r.relativeKey(last), r.Options.Reverse), missing, nil
		}
	}
}

// relativeKey returns the key relative to the prefix.
func (r *Range) relativeKey(key []byte) []byte { return key[len(r.Prefix):] }

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
