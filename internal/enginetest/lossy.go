// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// Lossy is a database that at a chosen moment does not know whether a transaction has
// committed (1021), as a cluster after its acknowledgement is lost.
type Lossy struct {
	kv.Database

	mu   sync.Mutex
	next func(context.Context, *lossyTx) error // commits a transaction; nil: nothing is lost
}

// Lose makes the outcome of the next commit unknown: the transaction has committed, or
// is dropped. Before it is told, between, if there is one, does what another process does
// at that moment; its error, if any, ends the transaction.
func (l *Lossy) Lose(dropped bool, between func() error) {
	l.commitNextBy(func(ctx context.Context, t *lossyTx) error {
		if !dropped {
			if err := t.Transaction.Commit(ctx); err != nil {
				return err
			}
		}
		if between != nil {
			if err := between(); err != nil {
				return err
			}
		}
		return kv.NewError(kv.CodeCommitUnknownResult, "the outcome was lost")
	})
}

// Interrupt ends a context, by cancel, while the next commit is under way in it. The commit
// returns at once, and takes effect when the function that Interrupt returns is called.
func (l *Lossy) Interrupt(cancel context.CancelFunc) (land func() error) {
	l.commitNextBy(func(ctx context.Context, t *lossyTx) error {
		land = func() error { return t.Transaction.Commit(context.WithoutCancel(ctx)) }
		t.late.Store(true)
		cancel()
		return fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, context.Cause(ctx))
	})
	return func() error { return land() }
}

func (l *Lossy) commitNextBy(commit func(context.Context, *lossyTx) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = commit
}

func (l *Lossy) take() func(context.Context, *lossyTx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.next
	l.next = nil
	return next
}

// Begin implements [kv.Database].
func (l *Lossy) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	return &lossyTx{Transaction: tx, db: l}, err
}

// Transact implements [kv.Transactor].
func (l *Lossy) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := l.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

type lossyTx struct {
	kv.Transaction
	db   *Lossy
	late atomic.Bool // its commit is under way
}

// Cancel implements [kv.Transaction]. A commit that is under way goes on.
func (t *lossyTx) Cancel() {
	if !t.late.Load() {
		t.Transaction.Cancel()
	}
}

// Release implements [kv.Transaction]. A commit that is under way goes on.
func (t *lossyTx) Release() {
	if !t.late.Load() {
		t.Transaction.Release()
	}
}

// Commit implements [kv.Transaction].
func (t *lossyTx) Commit(ctx context.Context) error {
	if lose := t.db.take(); lose != nil {
		return lose(ctx, t)
	}
	return t.Transaction.Commit(ctx)
}
