// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// faults is an error that cannot be compared, as those of many validators.
type faults []string

// Error implements error.
func (f faults) Error() string { return "faults" }

// wrappedFault is a comparable type with a value that cannot be compared.
type wrappedFault struct{ error }

// TestCommitEndedByIncomparableCause: the cause of a context's end may be any error. A commit
// that has not answered by then has an unknown outcome.
func TestCommitEndedByIncomparableCause(t *testing.T) {
	for _, cause := range []error{faults{"x"}, wrappedFault{faults{"x"}}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		err := kv.AwaitCommit(ctx, kv.NewPromise[struct{}]().Future())
		if !kv.IsOutcomeUnknown(err) {
			t.Errorf("a hanging commit, ended by %T: %v, want an unknown outcome", cause, err)
		}
	}
}

// TestUnknownOutcomeIsNotDefinite: an error that says that the outcome is unknown may also have
// the code of a later attempt, or that of the context's cause. No predicate takes it for one
// after which nothing was committed, and an outer loop does not try again.
func TestUnknownOutcomeIsNotDefinite(t *testing.T) {
	for name, unknown := range map[string]error{
		"a later attempt": lateConflict(t),
		"a coded cause":   conflictingCause(t),
	} {
		if !kv.IsOutcomeUnknown(unknown) || kv.IsConflict(unknown) || kv.IsRetryableNotCommitted(unknown) || kv.IsRetryable(unknown) {
			t.Errorf("%s: %v looks definite", name, unknown)
		}
		tx, runs := &scriptedTx{}, 0
		outer := kv.Retry(t.Context(), tx, func(kv.Attempt) error {
			if runs++; runs == 1 {
				return unknown
			}
			return nil
		})
		if runs != 1 || !kv.IsOutcomeUnknown(outer) {
			t.Errorf("%s: %d runs of an outer loop, %v; want one, and an unknown outcome", name, runs, outer)
		}
	}
}

// lateConflict returns the error of a loop with a lost acknowledgement, then a conflict while
// the context ends.
func lateConflict(t *testing.T) error {
	ctx, cancel := context.WithCancel(t.Context())
	return kv.Retry(ctx, &scriptedTx{}, func(a kv.Attempt) error {
		if a.Number == 1 {
			return coded(kv.CodeCommitUnknownResult)
		}
		cancel()
		return coded(kv.CodeNotCommitted)
	})
}

// conflictingCause returns the error of a commit that a sibling's conflict ended, as in an errgroup.
func conflictingCause(t *testing.T) error {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(coded(kv.CodeNotCommitted))
	return kv.AwaitCommit(ctx, kv.NewPromise[struct{}]().Future())
}

// TestReadsHaveNoOutcome: a loop that commits nothing marks no error, except one of a
// transaction that its function has run.
func TestReadsHaveNoOutcome(t *testing.T) {
	own := errors.New("not found")
	inner := fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, coded(kv.CodeCommitUnknownResult))
	for name, test := range map[string]struct {
		first, then error
		unknown     bool
	}{
		"refused":         {coded(kv.CodeClusterVersionChanged), own, false},
		"an own error":    {coded(kv.CodeCommitUnknownResult), own, false},
		"another's write": {inner, own, true},
	} {
		runs := 0
		err := kv.RetryRead(t.Context(), &scriptedTx{}, func() error {
			if runs++; runs == 1 {
				return test.first
			}
			return test.then
		})
		if err == nil || errors.Is(err, kv.ErrOutcomeUnknown) != test.unknown {
			t.Errorf("%s: %v, unknown %t, want %t", name, err, !test.unknown, test.unknown)
		}
	}
}

// TestReadErrorHasNoOutcome: a read may fail with a code that of a commit leaves the outcome open. Neither the
// error nor those of a retry loop after it say that anything may have been committed.
func TestReadErrorHasNoOutcome(t *testing.T) {
	own := errors.New("already paid")
	for _, code := range []kv.Code{kv.CodeClusterVersionChanged, kv.CodeCommitUnknownResult} {
		read := fmt.Errorf("reading the invoice: %w", &kv.Error{Code: code, Read: true})
		if kv.IsMaybeCommitted(read) || kv.IsOutcomeUnknown(read) {
			t.Errorf("%v looks like a commit's", read)
		}
		err := kv.Retry(t.Context(), &scriptedTx{}, func(a kv.Attempt) error {
			if a.MaybeCommitted {
				t.Errorf("attempt %d after %v: an earlier one may have committed", a.Number, read)
			}
			if a.Number == 1 {
				return read
			}
			return own
		})
		if !errors.Is(err, own) && kv.CodeOf(err) != code || kv.IsOutcomeUnknown(err) {
			t.Errorf("after %v: %v, want no unknown outcome", read, err)
		}
	}
}
