// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Silent is a database that can stop to answer, as a cluster does that has too few servers:
// reads and commits then wait until the contexts of their callers end.
type Silent struct {
	kv.Database
	down atomic.Bool
}

// SetDown says whether the database is silent. What waits is not answered later.
func (s *Silent) SetDown(down bool) { s.down.Store(down) }

// Begin implements [kv.Database].
func (s *Silent) Begin() (kv.Transaction, error) {
	tx, err := s.Database.Begin()
	return &silentTx{silentReads{tx, s}, inner{tx}}, err
}

// Transact implements [kv.Transactor].
func (s *Silent) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := s.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (s *Silent) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := s.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// unlessDown returns a result that begins to come; one that never comes while the database is silent.
func unlessDown[T any](s *Silent, begin func() kv.Future[T]) kv.Future[T] {
	if s.down.Load() {
		return kv.NewPromise[T]().Future()
	}
	return begin()
}

// silentReads are the reads of a transaction or of its snapshot.
type silentReads struct {
	view kv.ReadTransaction
	db   *Silent
}

// Get implements [kv.ReadTransaction].
func (r silentReads) Get(key []byte) kv.Future[[]byte] {
	return unlessDown(r.db, func() kv.Future[[]byte] { return r.view.Get(key) })
}

// GetKey implements [kv.ReadTransaction].
func (r silentReads) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return unlessDown(r.db, func() kv.Future[[]byte] { return r.view.GetKey(sel) })
}

// GetRange implements [kv.ReadTransaction].
func (r silentReads) GetRange(keys kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return r.view.GetRange(keys, o).Wrap(func(_ kv.BatchRequest, batch kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		return unlessDown(r.db, func() kv.Future[kv.Batch] { return batch })
	})
}

// GetReadVersion implements [kv.ReadTransaction].
func (r silentReads) GetReadVersion() kv.Future[int64] {
	return unlessDown(r.db, r.view.GetReadVersion)
}

// GetEstimatedRangeSizeBytes implements [kv.ReadTransaction].
func (r silentReads) GetEstimatedRangeSizeBytes(keys kv.KeyRange) kv.Future[int64] {
	return unlessDown(r.db, func() kv.Future[int64] { return r.view.GetEstimatedRangeSizeBytes(keys) })
}

// GetRangeSplitPoints implements [kv.ReadTransaction].
func (r silentReads) GetRangeSplitPoints(keys kv.KeyRange, chunkSize int64) kv.Future[[][]byte] {
	return unlessDown(r.db, func() kv.Future[[][]byte] { return r.view.GetRangeSplitPoints(keys, chunkSize) })
}

// Snapshot implements [kv.ReadTransaction].
func (r silentReads) Snapshot() kv.ReadTransaction {
	return silentReads{r.view.Snapshot(), r.db}
}

// ReadTransact implements [kv.ReadTransactor].
func (r silentReads) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(r)
}

// SetOptions implements [kv.ReadTransaction].
func (r silentReads) SetOptions(o kv.TransactionOptions) error { return r.view.SetOptions(o) }

// inner has the methods of a transaction that are not silentReads'.
type inner struct{ kv.Transaction }

type silentTx struct {
	silentReads
	inner
}

// Transact implements [kv.Transactor].
func (t *silentTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *silentTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Commit implements [kv.Transaction].
func (t *silentTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

// CommitAsync implements [kv.Transaction].
func (t *silentTx) CommitAsync() kv.Future[struct{}] {
	return unlessDown(t.db, t.Transaction.CommitAsync)
}
