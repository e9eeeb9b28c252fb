// SPDX-License-Identifier: Apache-2.0

// Package rangesize tells how large ranges of keys are.
//
//	size, read, err := rangesize.Of(ctx, tx, tenant.Reserve())
package rangesize

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Engines estimate by a sample of the keys, which says nothing of small ranges: often that
// they are empty.
const (
	leastEstimate = 64 << 10 // bytes: the least estimate that is good enough
	mostPairs     = 1000     // pairs that are read in place of a smaller estimate
)

// Of returns the size of the keys and values of a range, in bytes: the engine's estimate or, where
// that is small and the range has at most a thousand pairs, the exact size. read is how many bytes
// it has read for that. It conflicts with nothing.
func Of(ctx context.Context, tx kv.ReadTransaction, r kv.KeyRange) (size, read int64, err error) {
	estimate, err := tx.GetEstimatedRangeSizeBytes(r).Get(ctx)
	if err != nil || estimate >= leastEstimate {
		return estimate, 0, err
	}
	pairs, err := tx.Snapshot().GetRange(r.Selectors(), kv.RangeOptions{Limit: mostPairs + 1, Mode: kv.ModeWantAll}).Slice(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, p := range pairs {
		read += int64(len(p.Key) + len(p.Value))
	}
	if len(pairs) > mostPairs {
		return max(read, estimate), read, nil
	}
	return read, read, nil
}
