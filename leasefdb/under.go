// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// Under returns db as its owner may write to it: each of its transactions,
// whether Transact runs it or Begin returns it, commits only while the fence
// holds. Otherwise its commit is not made, and the error is an [ErrLeaseLost],
// which no retry loop repeats. It tells of the last attempt: an earlier one whose
// outcome is unknown (see [kv.IsMaybeCommitted]) may have committed while the fence
// held. The check is part of each attempt; it costs one read, in a round with the first
// read of the function, if that reads. ReadTransact is not fenced. Closing the result closes db.
func (f Fence) Under(db kv.Database) kv.Database {
	if f.IsZero() {
		return db
	}
	return fencedDatabase{db, f}
}

type fencedDatabase struct {
	kv.Database
	fence Fence
}

// Begin implements [kv.Database].
func (d fencedDatabase) Begin() (kv.Transaction, error) {
	tx, err := d.Database.Begin()
	if err != nil {
		return nil, err
	}
	return &fencedTransaction{Transaction: tx, fence: d.fence}, nil
}

// Transact implements [kv.Transactor].
func (d fencedDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return d.Database.Transact(ctx, func(tx kv.Transaction) error {
		fenced := &fencedTransaction{Transaction: tx, fence: d.fence}
		if err := fn(fenced); err != nil {
			return err
		}
		return fenced.start().Wait(ctx)
	})
}

// fencedTransaction checks the fence before each commit. The check begins with the
// first read, so that it shares the round; not earlier, because options and a
// read version must be set before.
type fencedTransaction struct {
	kv.Transaction
	fence Fence

	mu       sync.Mutex
	checking *FenceCheck // of this attempt; nil until it has begun
}

// start begins the check of this attempt, unless it has begun.
func (t *fencedTransaction) start() *FenceCheck {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checking == nil {
		checking := t.fence.StartCheck(t.Transaction)
		t.checking = &checking
	}
	return t.checking
}

// forget drops the check: it is that of an attempt that has ended.
func (t *fencedTransaction) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checking = nil
}

// commit starts the commit of the attempt of a check that has passed. After a reset
// the transaction is another attempt, which that check says nothing of.
func (t *fencedTransaction) commit(passed *FenceCheck) kv.Future[struct{}] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.checking != passed {
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTransactionCancelled, "it was reset before its commit")))
	}
	return t.Transaction.CommitAsync()
}

// Get implements [kv.ReadTransaction].
func (t *fencedTransaction) Get(key []byte) kv.Future[[]byte] {
	t.start()
	return t.Transaction.Get(key)
}

// GetRange implements [kv.ReadTransaction].
func (t *fencedTransaction) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	t.start()
	return t.Transaction.GetRange(r, o)
}

// Transact implements [kv.Transactor]: what takes part in the transaction is
// under the fence, too.
func (t *fencedTransaction) Transact(_ context.Context, fn func(kv.Transaction) error) error {
	return fn(t)
}

// ReadTransact implements [kv.ReadTransactor].
func (t *fencedTransaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Commit implements [kv.Transaction].
func (t *fencedTransaction) Commit(ctx context.Context) error {
	if err := t.start().Wait(ctx); err != nil {
		return err
	}
	return t.Transaction.Commit(ctx)
}

// CommitAsync implements [kv.Transaction].
func (t *fencedTransaction) CommitAsync() kv.Future[struct{}] {
	committed, checking := kv.NewPromise[struct{}](), t.start()
	go func() {
		err := checking.Wait(context.Background())
		if err == nil {
			_, err = t.commit(checking).Get(context.Background())
		}
		committed.Resolve(struct{}{}, err)
	}()
	return committed.Future()
}

// OnError implements [kv.Transaction].
func (t *fencedTransaction) OnError(ctx context.Context, err error) error {
	t.forget()       // a commit that waits for it is given up
	defer t.forget() // what was read meanwhile belongs to the attempt that ends here
	return t.Transaction.OnError(ctx, err)
}

// Reset implements [kv.Transaction].
func (t *fencedTransaction) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Transaction.Reset()
	t.checking = nil
}

// ConflictRanges implements [kv.ConflictRanger] where the engine does.
func (t *fencedTransaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	ranger, err := t.ranger()
	if err != nil {
		return nil, nil, err
	}
	return ranger.ConflictRanges(ctx)
}

// ConflictingKeys implements [kv.ConflictRanger] where the engine does.
func (t *fencedTransaction) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	ranger, err := t.ranger()
	if err != nil {
		return nil, err
	}
	return ranger.ConflictingKeys(ctx)
}

func (t *fencedTransaction) ranger() (kv.ConflictRanger, error) {
	ranger, ok := t.Transaction.(kv.ConflictRanger)
	if !ok {
		return nil, kv.NewError(kv.CodeClientInvalidOperation, "the engine's transactions are no kv.ConflictRanger")
	}
	return ranger, nil
}
