// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// view reads for a transaction, or its snapshot.
type view struct {
	tx       *remoteTx
	snapshot bool
}

// Get implements [kv.ReadTransaction].
func (v view) Get(key []byte) kv.Future[[]byte] {
	return call(v, Request{Verb: get, Key: key}, value)
}

// GetKey implements [kv.ReadTransaction].
func (v view) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return call(v, Request{Verb: getKey, Selector: sel}, value)
}

// GetRange implements [kv.ReadTransaction].
func (v view) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		return call(v, Request{Verb: getRange, Batch: req}, func(r Response) kv.Batch { return present(r.Batch) })
	})
}

// GetReadVersion implements [kv.ReadTransaction].
func (v view) GetReadVersion() kv.Future[int64] {
	return call(v, Request{Verb: getReadVersion}, integer)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v view) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	return call(v, Request{Verb: getEstimatedRangeSize, Range: r}, integer)
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v view) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return call(v, Request{Verb: getRangeSplitPoints, Range: r, Integer: chunkSize}, func(r Response) [][]byte { return r.Keys })
}

// Snapshot implements [kv.ReadTransaction].
func (v view) Snapshot() kv.ReadTransaction { return view{v.tx, true} }

// ReadTransact implements [kv.ReadTransactor].
func (v view) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error { return fn(v) }

// SetOptions implements [kv.ReadTransaction].
func (v view) SetOptions(o kv.TransactionOptions) error {
	_, err := v.tx.sendCall(Request{Verb: setOptions, Options: o}).wait()
	if err == nil {
		v.tx.mu.Lock()
		defer v.tx.mu.Unlock()
		v.tx.options = v.tx.options.With(o)
	}
	return err
}

// present makes the values that are there and empty other than nil, which they are after their way.
func present(b kv.Batch) kv.Batch {
	for i := range b.KVs {
		if b.KVs[i].Value == nil {
			b.KVs[i].Value = []byte{}
		}
	}
	return b
}

func value(r Response) []byte {
	if r.Absent {
		return nil
	}
	return append([]byte{}, r.Value...)
}

func integer(r Response) int64 { return r.Integer }

// call sends a call and returns a future of its result.
func call[T any](v view, req Request, result func(Response) T) kv.Future[T] {
	req.Snapshot = v.snapshot
	promise := kv.NewPromise[T]()
	sent := v.tx.sendCall(req)
	go func() {
		resp, err := sent.wait()
		if err != nil {
			var zero T
			promise.Resolve(zero, err)
			return
		}
		promise.Resolve(result(resp), nil)
	}()
	return promise.Future()
}
