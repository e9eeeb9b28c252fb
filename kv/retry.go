// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Attempt tells a function that may run again about the attempts before.
type Attempt struct {
	// Number is 1 for the first attempt.
	Number int
	// Conflicts is how many attempts in a row, directly before this one, failed
	// with a conflict (see [IsConflict]).
	Conflicts int
	// MaybeCommitted is set once an earlier attempt failed with an error after
	// which it may have committed (see [IsMaybeCommitted]).
	MaybeCommitted bool
}

// Retry is the retry loop of every engine's [Transactor.Transact]: it runs fn,
// commits tx, and after a retryable error lets tx.OnError wait and reset
// before the next attempt. It cancels tx when ctx ends, when fn or the commit
// fails with an error that is not retryable, when fn panics or ends its goroutine,
// and when it returns a [RetryError].
// If ctx has already ended, fn is not run. Layers that need the [Attempt] call it
// on a transaction of their own from [Database.Begin].
//
// An error that ends the loop after an attempt that may have committed wraps
// [ErrOutcomeUnknown], fn's own errors too. At its end the loop calls [Release]: tx
// must be reset before it is used again.
func Retry(ctx context.Context, tx Transaction, fn func(Attempt) error) error {
	defer Release(tx)
	defer bindContext(ctx, tx).undo()
	return retry(ctx, tx, func(a Attempt) error {
		if err := fn(a); err != nil {
			return err
		}
		return commit(ctx, tx)
	})
}

// retry runs fn until it succeeds or must not run again; then it cancels tx.
func retry(ctx context.Context, tx Transaction, fn func(Attempt) error) error {
	succeeded := false
	defer func() {
		if !succeeded { // fn may not even have returned
			tx.Cancel()
		}
	}()
	a := attempts{Attempt: Attempt{Number: 1}}
	for {
		err := a.contextError(ctx)
		if err == nil {
			err = fn(a.Attempt)
			if succeeded = err == nil; succeeded {
				return nil
			}
			err = resetForRetry(ctx, tx, &a, err)
		}
		if err != nil {
			return err
		}
	}
}

// commit commits unless ctx has ended: its error then says for certain that
// nothing was committed.
func commit(ctx context.Context, tx Transaction) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return tx.Commit(ctx)
}

// RetryRead is the retry loop of [ReadTransactor.ReadTransact]: like [Retry]
// without a commit.
func RetryRead(ctx context.Context, tx Transaction, fn func() error) error {
	defer Release(tx)
	defer bindContext(ctx, tx).undo()
	defer tx.Cancel()
	return retry(ctx, tx, func(Attempt) error { return fn() })
}

// resetForRetry resets the transaction for another attempt and returns nil, or it
// returns the loop's error: err, wrapped with ctx's error or with that of OnError,
// or a *RetryError.
func resetForRetry(ctx context.Context, tx Transaction, a *attempts, err error) error {
	code := CodeOf(err)
	if code == 0 || !IsRetryable(err) {
		err = a.explain(ctx, err)
	}
	if code == 0 {
		return a.markUnknown(err)
	}
	if ended := context.Cause(ctx); ended != nil {
		return a.markUnknown(fmt.Errorf("%w: %w", ended, err))
	}
	if givenUp := a.countFailure(err); givenUp != nil {
		return givenUp
	}
	refused := tx.OnError(ctx, err)
	switch ended := context.Cause(ctx); {
	case refused == nil:
		a.beginNext()
		return nil
	case ended != nil:
		return a.markUnknown(fmt.Errorf("%w: %w", ended, err))
	case CodeOf(refused) != code:
		return a.markUnknown(fmt.Errorf("%w: %w", refused, err))
	}
	return a.markUnknown(err)
}

// AwaitCommit waits for a commit started with [Transaction.CommitAsync]. Engines
// implement [Transaction.Commit] with it: if ctx ends first, the error wraps
// ErrOutcomeUnknown and ctx's error. The error is the same if ctx's end has
// cancelled the transaction, and so the commit's future, before this function
// sees it.
func AwaitCommit(ctx context.Context, commit Future[struct{}]) error {
	_, err := commit.Get(ctx)
	ended := context.Cause(ctx)
	if err == nil || ended == nil {
		return err
	}
	if errors.Is(err, ended) || CodeOf(err) == CodeTransactionCancelled {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, ended)
	}
	return err
}

// binding cancels a transaction when a context ends.
type binding struct {
	tx        Transaction
	stop      func() bool
	cancelled sync.WaitGroup
}

// bindContext cancels tx when ctx ends. It returns nil if ctx never does.
func bindContext(ctx context.Context, tx Transaction) *binding {
	if ctx.Done() == nil {
		return nil
	}
	b := &binding{tx: tx}
	b.cancelled.Add(1)
	b.stop = context.AfterFunc(ctx, b.cancel)
	return b
}

func (b *binding) cancel() {
	defer b.cancelled.Done()
	b.tx.Cancel()
}

// undo undoes the binding. If the context has ended, it waits until the transaction is
// cancelled: the caller may reset the transaction and use it again.
func (b *binding) undo() {
	if b != nil && !b.stop() {
		b.cancelled.Wait()
	}
}

// Backoff computes the waits of OnError: each is a random part of a delay that
// doubles up to a cap (full jitter). The zero value is ready to use with
// FoundationDB's figures.
type Backoff struct {
	Initial time.Duration // the first delay; 0 means 10 ms
	Max     time.Duration // the cap; 0 means 1 s
	delay   time.Duration
}

// Next returns the next wait and doubles the delay behind it.
func (b *Backoff) Next() time.Duration {
	limit := orDefault(b.Max, time.Second)
	if b.delay == 0 {
		b.delay = min(orDefault(b.Initial, 10*time.Millisecond), limit)
	}
	wait := time.Duration(rand.Float64() * float64(b.delay))
	b.delay = min(2*b.delay, limit)
	return wait
}

// Reset makes the next wait the first again.
func (b *Backoff) Reset() { b.delay = 0 }

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
