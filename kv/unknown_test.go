// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"context"
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
