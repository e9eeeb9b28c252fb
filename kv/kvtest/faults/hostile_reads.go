// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// hostileView reads for a hostileTx, either the transaction or its snapshot.
type hostileView struct {
	t    *hostileTx
	view kv.ReadTransaction
}

// read starts a read, or fails it.
func read[T any](t *hostileTx, start func() kv.Future[T]) kv.Future[T] {
	if err := t.readFault(); err != nil {
		var zero T
		return kv.Resolved(zero, err)
	}
	return delay(t, start())
}

// Get implements [kv.ReadTransaction].
func (v hostileView) Get(key []byte) kv.Future[[]byte] {
	return read(v.t, func() kv.Future[[]byte] { return v.view.Get(key) })
}

// GetKey implements [kv.ReadTransaction].
func (v hostileView) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return read(v.t, func() kv.Future[[]byte] { return v.view.GetKey(sel) })
}

// GetReadVersion implements [kv.ReadTransaction].
func (v hostileView) GetReadVersion() kv.Future[int64] {
	return read(v.t, v.view.GetReadVersion)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v hostileView) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	return read(v.t, func() kv.Future[int64] { return v.view.GetEstimatedRangeSizeBytes(r) })
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v hostileView) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return read(v.t, func() kv.Future[[][]byte] { return v.view.GetRangeSplitPoints(r, chunkSize) })
}

// GetRange implements [kv.ReadTransaction].
func (v hostileView) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	if o.Limit < 0 || o.Limit == 0 && o.Mode == kv.ModeExact {
		return v.view.GetRange(r, o) // for the engine to refuse
	}
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return read(v.t, func() kv.Future[kv.Batch] { return v.batch(req) })
	})
}

// batch reads one batch, cut to a random size.
func (v hostileView) batch(req kv.BatchRequest) kv.Future[kv.Batch] {
	size := v.t.batchSize(req)
	req.RangeOptions.Limit = size
	return shorten(firstBatch(v.view.GetRange(req.SelectorRange, req.RangeOptions)), size)
}

// firstBatch returns the future of a range read's first batch.
func firstBatch(result kv.RangeResult) kv.Future[kv.Batch] {
	var first kv.Future[kv.Batch]
	result.Wrap(func(_ kv.BatchRequest, future kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		first = future
		return future
	})
	return first
}

// cutBatch is a batch that was asked for with a smaller limit than the
// program's: where the limit ended it, more may follow.
type cutBatch struct {
	kv.Future[kv.Batch]
	size int
}

func shorten(future kv.Future[kv.Batch], size int) kv.Future[kv.Batch] {
	return kv.NewFuture[kv.Batch](cutBatch{future, size})
}

// Result implements [kv.PendingResult].
func (c cutBatch) Result() (kv.Batch, error) {
	batch, err := c.Get(context.Background())
	batch.More = batch.More || err == nil && len(batch.KVs) == c.size
	return batch, err
}

// Snapshot implements [kv.ReadTransaction].
func (v hostileView) Snapshot() kv.ReadTransaction { return hostileView{v.t, v.view.Snapshot()} }

// ReadTransact implements [kv.ReadTransactor].
func (v hostileView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}
