// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// fencedTransaction checks the fence before each commit. The check begins with
// the first read, so that both share a round, and not earlier, because options
// and a read version must be set before.
type fencedTransaction struct {
	kv.Transaction
	fence Fence

	mu    sync.Mutex
	check *FenceCheck // of this attempt; nil until it has begun
}

// Release implements [kv.Releaser].
func (t *fencedTransaction) Release() { kv.Release(t.Transaction) }

// startCheck begins the check of this attempt, unless it has begun.
func (t *fencedTransaction) startCheck() *FenceCheck {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check == nil {
		check := t.fence.StartCheck(t.Transaction)
		t.check = &check
	}
	return t.check
}

// dropCheck drops the check of an attempt that has ended.
func (t *fencedTransaction) dropCheck() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check = nil
}

// commitChecked starts the commit of the attempt of a check that has passed.
// After a reset the transaction is another attempt, to which that check does
// not apply.
func (t *fencedTransaction) commitChecked(passed *FenceCheck) kv.Future[struct{}] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.check != passed {
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTransactionCancelled, "it was reset before its commit")))
	}
	return t.Transaction.CommitAsync()
}

// Get implements [kv.ReadTransaction].
func (t *fencedTransaction) Get(key []byte) kv.Future[[]byte] {
	t.startCheck()
	return t.Transaction.Get(key)
}

// GetRange implements [kv.ReadTransaction].
func (t *fencedTransaction) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	t.startCheck()
	return t.Transaction.GetRange(r, o)
}

// Transact implements [kv.Transactor]: fn runs under the fence, too.
func (t *fencedTransaction) Transact(_ context.Context, fn func(kv.Transaction) error) error {
	return fn(t)
}

// ReadTransact implements [kv.ReadTransactor].
func (t *fencedTransaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Commit implements [kv.Transaction].
func (t *fencedTransaction) Commit(ctx context.Context) error {
	if err := t.startCheck().Wait(ctx); err != nil {
		return err
	}
	return t.Transaction.Commit(ctx)
}

// CommitAsync implements [kv.Transaction].
func (t *fencedTransaction) CommitAsync() kv.Future[struct{}] {
	committed, check := kv.NewPromise[struct{}](), t.startCheck()
	go func() {
		err := check.Wait(context.Background())
		if err == nil {
			_, err = t.commitChecked(check).Get(context.Background())
		}
		committed.Resolve(struct{}{}, err)
	}()
	return committed.Future()
}

// OnError implements [kv.Transaction].
func (t *fencedTransaction) OnError(ctx context.Context, err error) error {
	t.dropCheck()       // a commit that waits for the check is given up
	defer t.dropCheck() // a check that began meanwhile belongs to the attempt that ends here
	return t.Transaction.OnError(ctx, err)
}

// Reset implements [kv.Transaction].
func (t *fencedTransaction) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Transaction.Reset()
	t.check = nil
}

// ConflictRanges implements [kv.ConflictRanger] where the engine does.
func (t *fencedTransaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	ranger, err := kv.ConflictRangerOf(t.Transaction)
	if err != nil {
		return nil, nil, err
	}
	return ranger.ConflictRanges(ctx)
}

// ConflictingKeys implements [kv.ConflictRanger] where the engine does.
func (t *fencedTransaction) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	ranger, err := kv.ConflictRangerOf(t.Transaction)
	if err != nil {
		return nil, err
	}
	return ranger.ConflictingKeys(ctx)
}
