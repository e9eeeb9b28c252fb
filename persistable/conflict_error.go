// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"strings"

	"github.com/kazahana-db/kazahana/persistable/trace"
)

// ConflictError is the error of a transaction that gave up because of conflicts, if
// [Options].ExplainConflicts is set or there is a tracer: it says what other
// transactions have changed. It wraps the engine's error.
type ConflictError struct {
	Conflicts []trace.Conflict // of the last attempt; at least one
	Err       error
}

// Error implements error.
func (e *ConflictError) Error() string {
	var all []string
	for _, c := range e.Conflicts {
		all = append(all, c.String())
	}
	return "persistable: another transaction changed " + strings.Join(all, "; ") + ": " + e.Err.Error()
}

// Unwrap returns the engine's error.
func (e *ConflictError) Unwrap() error { return e.Err }
