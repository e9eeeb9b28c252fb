// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// reads counts the reads of a transaction or of its snapshot.
type reads struct {
	rounds *rounds
	view   kv.ReadTransaction
}

func (v reads) add(change func(*Usage)) { v.rounds.meter.add(change) }

// Get implements [kv.ReadTransaction].
func (v reads) Get(key []byte) kv.Future[[]byte] {
	if string(key) == kv.MetadataVersionKey {
		v.add(func(u *Usage) { u.Free++ })
		return v.view.Get(key)
	}
	v.add(func(u *Usage) { u.Gets++ })
	return newFuture(v.rounds, v.view.Get(key), sizeOfValue(len(key)))
}

// AppendGets implements [kv.ManyGetter].
func (v reads) AppendGets(futures []kv.Future[[]byte], keys [][]byte) []kv.Future[[]byte] {
	v.add(func(u *Usage) { u.Gets += len(keys) })
	before := len(futures)
	futures = kv.AppendGets(futures, v.view, keys)
	for i, f := range futures[before:] {
		futures[before+i] = newFuture(v.rounds, f, sizeOfValue(len(keys[i])))
	}
	return futures
}

// GetKey implements [kv.ReadTransaction].
func (v reads) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	v.add(func(u *Usage) { u.Gets++ })
	return newFuture(v.rounds, v.view.GetKey(sel), nil)
}

// GetRange implements [kv.ReadTransaction].
func (v reads) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	v.add(func(u *Usage) { u.Ranges++ })
	return v.view.GetRange(r, o).Wrap(func(_ kv.BatchRequest, batch kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		v.add(func(u *Usage) { u.Batches++ })
		return newFuture(v.rounds, batch, sizeOfBatch)
	})
}

// GetReadVersion implements [kv.ReadTransaction].
func (v reads) GetReadVersion() kv.Future[int64] {
	v.add(func(u *Usage) { u.Free++ })
	return v.view.GetReadVersion()
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (v reads) GetEstimatedRangeSizeBytes(r kv.KeyRange) kv.Future[int64] {
	v.add(func(u *Usage) { u.Gets++ })
	return newFuture(v.rounds, v.view.GetEstimatedRangeSizeBytes(r), nil)
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (v reads) GetRangeSplitPoints(r kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	v.add(func(u *Usage) { u.Gets++ })
	return newFuture(v.rounds, v.view.GetRangeSplitPoints(r, chunkSize), nil)
}

// Snapshot implements [kv.ReadTransaction].
func (v reads) Snapshot() kv.ReadTransaction { return reads{v.rounds, v.view.Snapshot()} }

// ReadTransact implements [kv.ReadTransactor].
func (v reads) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}
