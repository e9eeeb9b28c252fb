// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// faulty is an engine that misbehaves as a test tells it. Both of its functions
// may be nil.
type faulty struct {
	kv.Database

	mu sync.Mutex
	// onCommit is called instead of the n-th commit (from 1) of all and returns
	// what the program is told.
	onCommit func(n int, commit func() error) error
	// onRead is called before the n-th read (from 1) of all that are not free,
	// and returns the error with which it fails, or nil.
	onRead         func(n int) error
	commits, reads int

	// slowBatch is how long each batch of a range takes, which then has one pair.
	slowBatch time.Duration
}

// begin forgets what was counted.
func (f *faulty) begin(onRead func(n int) error, onCommit func(n int, commit func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onRead, f.onCommit, f.reads, f.commits = onRead, onCommit, 0, 0
}

func (f *faulty) nextRead() error {
	f.mu.Lock()
	f.reads++
	n, hook := f.reads, f.onRead
	f.mu.Unlock()
	if hook == nil {
		return nil
	}
	return hook(n)
}

func (f *faulty) commit(commit func() error) error {
	f.mu.Lock()
	f.commits++
	n, hook := f.commits, f.onCommit
	f.mu.Unlock()
	if hook == nil {
		return commit()
	}
	return hook(n, commit)
}

func (f *faulty) Begin() (kv.Transaction, error) {
	tx, err := f.Database.Begin()
	if err != nil {
		return nil, err
	}
	return &faultyTx{Transaction: tx, view: faultyView{tx, f}}, nil
}

func (f *faulty) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := f.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

func (f *faulty) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	tx, err := f.Begin()
	if err != nil {
		return err
	}
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

type faultyTx struct {
	kv.Transaction
	view faultyView
}

func (t *faultyTx) Get(key []byte) kv.Future[[]byte] { return t.view.Get(key) }

func (t *faultyTx) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return t.view.GetRange(r, o)
}

func (t *faultyTx) Snapshot() kv.ReadTransaction { return t.view.Snapshot() }

func (t *faultyTx) Commit(ctx context.Context) error {
	return t.view.faulty.commit(func() error { return t.Transaction.Commit(ctx) })
}

func (t *faultyTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t *faultyTx) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

type faultyView struct {
	kv.ReadTransaction
	faulty *faulty
}

func (v faultyView) Snapshot() kv.ReadTransaction {
	return faultyView{v.ReadTransaction.Snapshot(), v.faulty}
}

func (v faultyView) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(v)
}

func (v faultyView) Get(key []byte) kv.Future[[]byte] {
	if string(key) != kv.MetadataVersionKey {
		if err := v.faulty.nextRead(); err != nil {
			return kv.Resolved[[]byte](nil, err)
		}
	}
	return v.ReadTransaction.Get(key)
}

func (v faultyView) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	if err := v.faulty.nextRead(); err != nil {
		return kv.StreamRange(r, o, func(kv.BatchRequest) kv.Future[kv.Batch] {
			return kv.Resolved(kv.Batch{}, err)
		})
	}
	if v.faulty.slowBatch == 0 {
		return v.ReadTransaction.GetRange(r, o)
	}
	return kv.StreamRange(r, o, func(req kv.BatchRequest) kv.Future[kv.Batch] {
		time.Sleep(v.faulty.slowBatch)
		req.Limit, req.Mode = 1, kv.ModeExact
		pairs, err := v.ReadTransaction.GetRange(req.SelectorRange, req.RangeOptions).Slice(ctx)
		return kv.Resolved(kv.Batch{KVs: pairs, More: len(pairs) > 0}, err)
	})
}

// The fates of a commit.
func lost(commit func() error) error { // it commits, and the caller does not learn it
	if err := commit(); err != nil {
		return err
	}
	return kv.NewError(kv.CodeCommitUnknownResult, "the acknowledgement was lost")
}

func dropped(func() error) error { // it does not commit, and the caller does not learn it
	return kv.NewError(kv.CodeCommitUnknownResult, "the commit was lost")
}

func conflict(func() error) error { return kv.NewError(kv.CodeNotCommitted, "made up") }

func honest(commit func() error) error { return commit() }

// fates lets the commits have these fates, and later ones be honest.
func fates(list ...func(func() error) error) func(int, func() error) error {
	return func(n int, commit func() error) error {
		if n <= len(list) {
			return list[n-1](commit)
		}
		return commit()
	}
}
