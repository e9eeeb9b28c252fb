// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Silent is a database that can stop to answer, as a cluster does that has too few servers:
// reads of one key and commits then wait until their context or their transaction ends.
type Silent struct {
	kv.Database
	down atomic.Bool
}

// SetDown says whether the database is silent. What waits is not answered later.
func (s *Silent) SetDown(down bool) { s.down.Store(down) }

// Begin implements [kv.Database].
func (s *Silent) Begin() (kv.Transaction, error) {
	tx, err := s.Database.Begin()
	return &silentTx{Transaction: tx, db: s}, err
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

type silentTx struct {
	kv.Transaction
	db *Silent
}

// Get implements [kv.ReadTransaction].
func (t *silentTx) Get(key []byte) kv.Future[[]byte] {
	if t.db.down.Load() {
		return kv.NewPromise[[]byte]().Future()
	}
	return t.Transaction.Get(key)
}

// Snapshot implements [kv.Transaction].
func (t *silentTx) Snapshot() kv.ReadTransaction {
	return silentSnapshot{t.Transaction.Snapshot(), t}
}

// Commit implements [kv.Transaction].
func (t *silentTx) Commit(ctx context.Context) error { return kv.AwaitCommit(ctx, t.CommitAsync()) }

// CommitAsync implements [kv.Transaction].
func (t *silentTx) CommitAsync() kv.Future[struct{}] {
	if t.db.down.Load() {
		return kv.NewPromise[struct{}]().Future()
	}
	return t.Transaction.CommitAsync()
}

type silentSnapshot struct {
	kv.ReadTransaction
	tx *silentTx
}

// Get implements [kv.ReadTransaction].
func (s silentSnapshot) Get(key []byte) kv.Future[[]byte] {
	if s.tx.db.down.Load() {
		return s.tx.Get(key)
	}
	return s.ReadTransaction.Get(key)
}
