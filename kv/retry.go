// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"errors"
	"fmt"
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
// [ErrOutcomeUnknown], and so do fn's own errors: what fn refuses may be what that
// attempt has written. At its end the loop calls tx.Release: tx must be reset before
// it is used again.
func Retry(ctx context.Context, tx Transaction, fn func(Attempt) error) error {
	defer tx.Release()
	defer bindContext(ctx, tx).undo()
	return retry(ctx, tx, attempts{}, func(a Attempt) error {
		if err := fn(a); err != nil {
			return err
		}
		return commit(ctx, tx)
	})
}

// retry runs fn until it succeeds or must not run again; then it cancels tx.
func retry(ctx context.Context, tx Transaction, a attempts, fn func(Attempt) error) error {
	succeeded := false
	defer func() {
		if !succeeded { // fn may not even have returned
			tx.Cancel()
		}
	}()
	a.Number = 1
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
// without a commit. Its error wraps [ErrOutcomeUnknown] only if that of a transaction which fn
// has run does.
func RetryRead(ctx context.Context, tx Transaction, fn func() error) error {
	defer tx.Release()
	defer bindContext(ctx, tx).undo()
	defer tx.Cancel()
	return retry(ctx, tx, attempts{reads: true}, func(Attempt) error { return fn() })
}

// resetForRetry resets the transaction for another attempt and returns nil, or it
// returns the loop's error: err, wrapped with ctx's error or with that of OnError,
// or a *RetryError.
func resetForRetry(ctx context.Context, tx Transaction, a *attempts, err error) error {
	code, unknown := CodeOf(err), isUnknownForGood(err)
	if code == 0 || !IsRetryable(err) {
		err = a.explain(ctx, err)
	}
	if code == 0 || unknown {
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

// isUnknownForGood reports whether err leaves the outcome of a transaction open, and has
// perhaps the code of something else, so that no code may have it retried.
func isUnknownForGood(err error) bool {
	return errors.Is(err, ErrOutcomeUnknown) && !IsMaybeCommitted(err)
}

// AwaitCommit waits for a commit started with [Transaction.CommitAsync]. Engines
// implement [Transaction.Commit] with it: if ctx ends first, the error wraps
// ErrOutcomeUnknown and ctx's error. The error is the same if ctx's end has
// cancelled the transaction, and so the commit's future, before this function
// sees it.
func AwaitCommit(ctx context.Context, commit Future[struct{}]) error {
	err := commit.err
	if commit.pending != nil {
		_, err = commit.await(ctx)
	}
	if err == nil || ctx.Err() == nil {
		return err
	}
	var silent *silenceError // a cause need not be comparable
	switch {
	case errors.As(err, &silent), errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case CodeOf(err) == CodeTransactionCancelled:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
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

// A retry loop gives up after so many attempts, because another attempt would
// fail in the same way.
const (
	maxSlowAttempts        = 3    // in a row, that lasted as long as a version can be read
	maxConflictingAttempts = 1000 // in a row; with back-off, some minutes
)

// RetryError is the error of [Retry], [RetryRead] and every [Transactor] when
// they run a function no more although its error is retryable:
//
//   - CodeTransactionTooOld (1007) three times in a row, because the function takes
//     longer than [MaxTransactionAge]. Do less in one transaction: write in
//     several, and read large data outside of them.
//   - CodeNotCommitted (1020) a thousand times in a row. A function with a second
//     transaction that writes what its first one reads conflicts for ever.
//
// It does not unwrap to the last attempt's error: an outer loop must not retry.
// If an earlier attempt may have committed, it unwraps to ErrOutcomeUnknown.
type RetryError struct {
	Code           Code // of each attempt's error
	Attempts       int  // that ended so, in a row
	MaybeCommitted bool // an earlier attempt may have committed
	Last           error
}

// Error implements error.
func (e *RetryError) Error() string {
	text := fmt.Sprintf("kv: gave up after %d attempts in a row that failed with %d, ", e.Attempts, int(e.Code))
	if e.Code == CodeTransactionTooOld {
		text += fmt.Sprintf("transaction_too_old: each lasted longer than %v, after which a transaction can neither read nor commit; "+
			"do less in one transaction: write in several, read large data outside of them", MaxTransactionAge)
	} else {
		text += "not_committed: another transaction, perhaps one that the function itself runs, wrote to what each attempt had read"
	}
	if e.MaybeCommitted {
		text += "; an earlier attempt may have committed"
	}
	return text + ": " + e.Last.Error()
}

// Unwrap returns ErrOutcomeUnknown if an earlier attempt may have committed.
func (e *RetryError) Unwrap() error {
	if e.MaybeCommitted {
		return ErrOutcomeUnknown
	}
	return nil
}

// MarkProgress wraps the error of an attempt when its function will continue where
// this attempt stopped. The retry loop then does not limit how many attempts
// last longer than [MaxTransactionAge]. It returns nil for nil.
func MarkProgress(err error) error {
	if err == nil {
		return nil
	}
	return &progressError{err}
}

type progressError struct{ error }

func (e *progressError) Unwrap() error { return e.error }

// attempts is what a retry loop remembers of the attempts that failed.
type attempts struct {
	Attempt
	reads bool      // nothing is committed
	began time.Time // when the current attempt began; zero for the first, so that most calls read no clock
	slow  int       // attempts in a row that lasted too long; the first of all is taken for one
	last  error     // of the previous attempt
}

// beginNext notes that the next attempt begins.
func (a *attempts) beginNext() {
	a.Number++
	a.began = time.Now()
}

// countFailure counts an attempt that failed with a retryable error. It returns a
// *RetryError if the loop must give up, else nil.
func (a *attempts) countFailure(err error) error {
	code, long := CodeOf(err), a.began.IsZero() || time.Since(a.began) >= MaxTransactionAge
	a.last = err
	a.slow, a.Conflicts = countRow(a.slow, code == CodeTransactionTooOld && long), countRow(a.Conflicts, code == CodeNotCommitted)
	a.MaybeCommitted = a.MaybeCommitted || a.maybeCommitted(err)
	var progress *progressError
	switch {
	case errors.As(err, &progress):
		a.slow = 0
	case a.slow >= maxSlowAttempts:
		return &RetryError{code, a.slow, a.MaybeCommitted, err}
	case a.Conflicts >= maxConflictingAttempts:
		return &RetryError{code, a.Conflicts, a.MaybeCommitted, err}
	}
	return nil
}

// maybeCommitted reports whether the attempt that failed with err may have committed.
func (a *attempts) maybeCommitted(err error) bool {
	return IsMaybeCommitted(err) && (!a.reads || errors.Is(err, ErrOutcomeUnknown))
}

// countRow returns how many events in a row there are after the next attempt, in
// which the event happened or not.
func countRow(row int, happened bool) int {
	if happened {
		return row + 1
	}
	return 0
}

// contextError returns nil, or the loop's error after ctx ended: it wraps the
// context's cause and the previous attempt's error.
func (a *attempts) contextError(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if a.last == nil {
		return context.Cause(ctx)
	}
	return a.markUnknown(fmt.Errorf("%w: %w", context.Cause(ctx), a.last))
}

// markUnknown wraps err with ErrOutcomeUnknown if an attempt may have committed
// and err does not say so.
func (a *attempts) markUnknown(err error) error {
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		return err
	case a.maybeCommitted(err):
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	case !a.MaybeCommitted:
		return err
	}
	return fmt.Errorf("%w: an attempt before this one may have committed: %w", ErrOutcomeUnknown, err)
}

// explain returns the loop's error after err ended an attempt. If ctx has ended,
// the result also tells why the previous attempt failed.
func (a *attempts) explain(ctx context.Context, err error) error {
	ended := context.Cause(ctx)
	if ended == nil || a.last == nil || CodeOf(err) == CodeOf(a.last) {
		return err
	}
	return a.markUnknown(&lateError{err, a.Number, a.last})
}

// lateError is the error of an attempt that was not the first. It does not
// unwrap to the previous attempt's error: its code is not this attempt's.
type lateError struct {
	error
	number   int
	previous error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%v (in attempt %d; the previous one failed: %v)", e.error, e.number, e.previous)
}

func (e *lateError) Unwrap() error { return e.error }
