// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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
//   - CodeNotCommitted (1020) a thousand times in a row. A function whose second
//     transaction writes what its first one reads conflicts for ever.
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

// MarkProgress wraps the error of an attempt whose function will continue where
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
	a.MaybeCommitted = a.MaybeCommitted || IsMaybeCommitted(err)
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
	if !a.MaybeCommitted || IsMaybeCommitted(err) || errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
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
// unwrap to the previous attempt's error, whose code is not this attempt's.
type lateError struct {
	error
	number   int
	previous error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%v (in attempt %d; the previous one failed: %v)", e.error, e.number, e.previous)
}

func (e *lateError) Unwrap() error { return e.error }
