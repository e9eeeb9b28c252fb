// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Faults of sizes. Each embeds a right transaction of the naive engine.
type (
	noSizes      struct{ kv.Transaction } // every range has 0 bytes
	growingSizes struct {                 // what was cleared counts
		kv.Transaction
		peak *atomic.Int64
	}
	noSplits     struct{ kv.Transaction } // every range is one part
	readingSizes struct{ kv.Transaction } // they read at the read version, and conflict
)

func (w noSizes) GetEstimatedRangeSizeBytes(kv.KeyRange) kv.Future[int64] {
	return kv.Resolved(int64(0), nil)
}

func (w growingSizes) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	size, err := w.Transaction.GetEstimatedRangeSizeBytes(r).Get(context.Background())
	w.peak.Store(max(size, w.peak.Load())) // one goroutine asks
	return kv.Resolved(w.peak.Load(), err)
}

// growingSizesOf returns transactions whose sizes never shrink.
func growingSizesOf() func(kv.Transaction) kv.Transaction {
	peak := new(atomic.Int64)
	return func(tx kv.Transaction) kv.Transaction { return growingSizes{tx, peak} }
}

func (w noSplits) Snapshot() kv.ReadTransaction { return w }

func (w noSplits) GetRangeSplitPoints(r kv.KeyRange, _ int64) kv.Future[[][]byte] {
	return kv.Resolved([][]byte{r.Begin, r.End}, nil)
}

func (w readingSizes) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	_, err := w.GetRange(r.Selectors(), kv.RangeOptions{}).Slice(context.Background())
	return kv.Resolved(int64(0), err)
}
