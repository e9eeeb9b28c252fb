// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// rangeEstimate asks how many keys and bytes a range has: the engine's estimate of the
// bytes, and the first pairs. Where these are not all, their mean size tells
// how many keys have so many bytes.
type rangeEstimate struct {
	sizes  []kv.Future[int64] // of each shard
	firsts []kv.RangeResult
	enough int64 // how many bytes of each shard to read; less than a batch has, of which engines count more

	keys, bytes int64 // of the first pairs
	more        bool  // there are others behind them
}

// newRangeEstimate starts the reads. ranges are the range in each of its shards.
func newRangeEstimate(tx kv.ReadTransaction, ranges []kv.KeyRange) (e rangeEstimate) {
	o := kv.RangeOptions{Mode: kv.ModeLarge}
	e.enough = 2048
	if len(ranges) > 16 {
		o.Mode, e.enough = kv.ModeSmall, 128
	}
	for _, r := range ranges {
		e.sizes = append(e.sizes, tx.GetEstimatedRangeSizeBytes(r))
		e.firsts = append(e.firsts, tx.GetRange(r.Selectors(), o))
	}
	return e
}

// await writes the result to a plan.
func (e *rangeEstimate) await(ctx context.Context, r *RangePlan) error {
	size := int64(0)
	for i := range e.sizes {
		n, err := e.sizes[i].Get(ctx)
		if err != nil {
			return err
		}
		size += n
		if err := e.countFirst(ctx, e.firsts[i]); err != nil {
			return err
		}
	}
	r.Keys, r.Bytes, r.Exact = e.keys, e.bytes, !e.more
	if e.more && size > e.bytes {
		r.Keys, r.Bytes = int64(float64(size)/float64(e.bytes)*float64(e.keys)+0.5), size
	}
	return nil
}

// countFirst counts the first pairs of a read. One batch is enough, unless the engine
// makes smaller ones than its streaming mode says.
func (e *rangeEstimate) countFirst(ctx context.Context, first kv.RangeResult) error {
	before := e.bytes
	for batch, err := range first.Batches(ctx) {
		if err != nil {
			return err
		}
		for _, pair := range batch.KVs {
			e.keys, e.bytes = e.keys+1, e.bytes+int64(len(pair.Key)+len(pair.Value))
		}
		if e.bytes-before >= e.enough {
			e.more = e.more || batch.More
			break
		}
	}
	return nil
}
