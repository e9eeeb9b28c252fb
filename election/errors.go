// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// ErrDeposed: a term is over although its leader has not ended it. It is
// leasefdb.ErrLeaseLost, so that it is also the error of stores under
// [Term.Fence]. It comes as a *[leasefdb.LostError], with the rank as its epoch,
// and is not retryable.
var ErrDeposed = leasefdb.ErrLeaseLost

var (
	// ErrResigned is the cause of the end of a leader's context after
	// [Election.Resign].
	ErrResigned = errors.New("election: the leader has resigned")
	// ErrRunning: the Election runs already.
	ErrRunning = errors.New("election: Run is under way already; each candidate needs an Election of its own")
)

// deposed is the cause of the end of a leader's context that lost its term.
func deposed(g leasefdb.Grant, cause error) error {
	if errors.Is(cause, ErrDeposed) {
		return cause
	}
	return &leasefdb.LostError{Name: fmt.Sprintf("%q", g.Name), Epoch: g.Epoch, Reason: cause.Error(), Err: cause}
}

// isTransient reports whether an error of the database may pass: it comes from the engine,
// or tells nothing but that an outcome is unknown.
func isTransient(err error) bool {
	retry := new(kv.RetryError)
	return kv.CodeOf(err) != 0 || errors.As(err, &retry) || errors.Is(err, kv.ErrOutcomeUnknown)
}

// isConsequence reports whether a leader's error is nothing but the consequence of the end
// of its context.
func isConsequence(err error) bool {
	return err == nil || errors.Is(err, ErrDeposed) || errors.Is(err, ErrResigned) || errors.Is(err, context.Canceled)
}

// unwatchable reports whether the engine can give no watch.
func unwatchable(err error) bool {
	code := kv.CodeOf(err)
	return code == kv.CodeTooManyWatches || code == kv.CodeWatchesDisabled
}
