// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// keyspace is where the records of a store are, or the entries of one index. A
// key is a prefix, the shard if they are scattered, and a suffix, by whose
// order records come: that of the ids, or of the values.
type keyspace struct {
	prefix []byte
	shards index.Shards
}

func entriesOf(ix *index.Index) keyspace { return keyspace{ix.Prefix, ix.Scatter} }

// append appends the key of the record with that packed id to dst.
func (k *keyspace) append(dst, id []byte) []byte {
	return append(k.shards.Append(append(dst, k.prefix...), id), id...)
}

// suffix returns the suffix of a key that was read in one of the shards.
func (k *keyspace) suffix(key []byte) []byte {
	_, suffix, _ := k.shards.Cut(key[len(k.prefix):])
	return suffix
}

// rangeRead is a range of a keyspace that is about to be read.
type rangeRead struct {
	keyspace
	bounds  index.Bounds
	options kv.RangeOptions // for a range that is not scattered
	asIs    bool            // as the keys lie: shard behind shard
	whole   bool            // records, whose chunks have keys of their own
	expect  int             // how many records are wanted; 0 if that is not known
	lacking func() int      // how many of them are not complete yet; nil if expect is 0
	begun   *kv.RangeResult // of a range that is not scattered; nil: to be begun
}

// wholeBatch is up to which limit a query is fetched in one batch.
const wholeBatch = 1000

// rangeRead returns what is to be read of a plan behind the cursor.
func (q *query) rangeRead(p plan, keys keyspace, c *cursor) rangeRead {
	r := rangeRead{keyspace: keys, bounds: p.Bounds, asIs: p.AsIs, expect: c.limit}
	if c.position != nil {
		r.bounds = r.bounds.Resume(c.position, q.reverse)
	}
	if c.limit > 0 {
		r.lacking = func() int { return c.limit }
	}
	r.options = kv.RangeOptions{Limit: c.limit, Reverse: q.reverse}
	if 0 < c.limit && c.limit <= wholeBatch {
		r.options.Mode = kv.ModeExact
	}
	return r
}

// position returns what a cursor behind the key holds.
func (r *rangeRead) position(key []byte) []byte {
	if r.asIs {
		return key[len(r.prefix):]
	}
	return r.suffix(key)
}

// merged reports whether the pairs of several shards must be put into order.
func (r *rangeRead) merged() bool { return r.shards != 0 && !r.asIs }

// start begins the read, but of shards.
func (r *rangeRead) start(t *transaction) {
	if !r.merged() {
		pairs := t.reader.GetRange(r.bounds.Range(r.prefix).Selectors(), r.options)
		r.begun = &pairs
	}
}

// batches yields the pairs in order, in batches, but for those that the
// transaction has set since. Where a limit counted such, it reads on.
func (r rangeRead) batches(ctx context.Context, t *transaction) iter.Seq2[[]kv.KeyValue, error] {
	return func(yield func([]kv.KeyValue, error) bool) {
		s := t.beginScan(&r)
		defer s.end()
		for missing := 1; missing > 0; {
			missing = 0
			var last []byte
			for pairs, err := range r.stream(ctx, t) {
				if n := len(pairs); n > 0 {
					last = pairs[n-1].Key
					pairs = s.without(pairs, &r)
					if missing += n - len(pairs); len(pairs) == 0 {
						continue
					}
				}
				if !yield(pairs, err) || err != nil {
					return
				}
			}
			if r.options.Limit == 0 || r.merged() || missing == 0 {
				return
			}
			r.bounds, r.options.Limit, r.begun = r.bounds.Resume(r.place(last), r.options.Reverse), missing, nil
		}
	}
}

// place returns the key relative to the prefix.
func (r *rangeRead) place(key []byte) []byte { return key[len(r.prefix):] }

// stream yields the pairs in order, in batches.
func (r *rangeRead) stream(ctx context.Context, t *transaction) iter.Seq2[[]kv.KeyValue, error] {
	return func(yield func([]kv.KeyValue, error) bool) {
		if r.merged() {
			newMerge(*r, t).batches(ctx, yield)
			return
		}
		if r.begun == nil {
			r.start(t)
		}
		for batch, err := range r.begun.Batches(ctx) {
			if !yield(batch.KVs, err) || err != nil {
				return
			}
		}
	}
}

// ranges returns the range of each shard.
func (r *rangeRead) ranges() []lane {
	lanes := make([]lane, r.shards)
	for i := range lanes {
		prefix := r.shards.AppendShard(slices.Clone(r.prefix), i)
		lanes[i] = lane{prefix: prefix, left: r.bounds.Range(prefix)}
		lanes[i].unseen = lanes[i].left
	}
	return lanes
}

// mode returns how many bytes each shard is asked for in the n-th round, from
// 0, where it is not known how many records are wanted: few at first, since the
// caller may stop early, and more the fewer shards there are.
func (r *rangeRead) mode(n int) kv.StreamingMode {
	modes := []kv.StreamingMode{kv.ModeSmall, kv.ModeMedium, kv.ModeLarge, kv.ModeSerial}
	if r.shards <= 16 {
		modes = modes[1:]
	} else {
		modes = modes[:3]
	}
	if r.options.Mode == kv.ModeWantAll {
		n = len(modes)
	}
	return modes[min(n, len(modes)-1)]
}
