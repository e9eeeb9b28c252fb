// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The attempts after which a retry loop gives up, because another cannot end
// otherwise.
const (
	maxSlowAttempts        = 2    // in a row, behind the first, that lasted as long as a version can be read
	maxConflictingAttempts = 1000 // in a row; with back-off, some minutes
)

// RetryError is the error of [Retry] and [RetryRead], and so of every
// [Transactor], when they give a function up although its error is retryable:
//
//   - CodeTransactionTooOld (1007), because the function takes longer than
//     [MaxTransactionAge]: when the first attempt and two more failed so. Do less
//     in one transaction: write in several, and read what is large outside of
//     them.
//   - CodeNotCommitted (1020), because it conflicts each time: after a thousand
//     attempts in a row. A function that writes what it reads in a transaction of
//     another kind than its own does so for ever.
//
// It does not unwrap to the last attempt's error: loops around must not retry.
// If an attempt before may have committed, it unwraps to ErrOutcomeUnknown.
type RetryError struct {
	Code           Code // of each attempt's error
	Attempts       int  // that ended so, in a row
	MaybeCommitted bool // an earlier attempt may have committed
	Last           error
}

// Error implements error.
func (e *RetryError) Error() string {
	text := fmt.Sprintf("kv: given up after %d attempts in a row that failed with %d, ", e.Attempts, int(e.Code))
	if e.Code == CodeTransactionTooOld {
		text += fmt.Sprintf("transaction_too_old: each lasted longer than the %v after which a transaction can neither read nor commit; "+
			"do less in one transaction: write in several, read what is large outside of them", MaxTransactionAge)
	} else {
		text += "not_committed: others, or the function itself outside of its transaction, changed what each had read"
	}
	if e.MaybeCommitted {
		text += "; an attempt before may have committed"
	}
	return text + ": " + e.Last.Error()
}

// Unwrap returns ErrOutcomeUnknown where that is so.
func (e *RetryError) Unwrap() error {
	if e.MaybeCommitted {
		return ErrOutcomeUnknown
	}
	return nil
}

// Progress marks err, an error of a function that is run again, for the retry
// loop: the function goes on where this attempt stopped, so its attempts may be
// as many and as long as they must. nil stays nil.
func Progress(err error) error {
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
	began time.Time // the present one; zero for the first, so that most calls ask no clock
	slow  int       // in a row
	last  error     // of the attempt before
}

// begin notes that the next attempt begins.
func (a *attempts) begin() {
	a.Number++
	a.began = time.Now()
}

// fail counts an attempt that failed with a retryable error. It returns the
// error with which to give up, or nil.
func (a *attempts) fail(err error) error {
	code, long := CodeOf(err), !a.began.IsZero() && time.Since(a.began) >= MaxTransactionAge
	a.last = err
	a.slow, a.Conflicts = follow(a.slow, code == CodeTransactionTooOld && long), follow(a.Conflicts, code == CodeNotCommitted)
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

// follow returns the length of a row to which the next member belongs or not.
func follow(row int, belongs bool) int {
	if belongs {
		return row + 1
	}
	return 0
}

// ended returns the error with which a loop ends whose context has, or nil: the
// context's, above that of the attempt before.
func (a *attempts) ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if a.last == nil {
		return context.Cause(ctx)
	}
	return a.unknown(fmt.Errorf("%w: %w", context.Cause(ctx), a.last))
}

// unknown marks the error of a loop that ends although an attempt may have
// committed, and err does not say so.
func (a *attempts) unknown(err error) error {
	if !a.MaybeCommitted || IsMaybeCommitted(err) || errors.Is(err, ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
}

// explain returns the error with which a loop ends in the middle of an attempt. If
// that is because ctx has ended, the error also names why there was an attempt
// before.
func (a *attempts) explain(ctx context.Context, err error) error {
	ended := context.Cause(ctx)
	if ended == nil || a.last == nil || CodeOf(err) == CodeOf(a.last) {
		return err
	}
	return a.unknown(&lateError{err, a.Number, a.last})
}

// lateError is the error of an attempt that was not the first. It does not
// unwrap to the error of the one before, whose code is not this attempt's.
type lateError struct {
	error
	number int
	before error
}

func (e *lateError) Error() string {
	return fmt.Sprintf("%v (in attempt %d; the one before failed: %v)", e.error, e.number, e.before)
}

func (e *lateError) Unwrap() error { return e.error }
