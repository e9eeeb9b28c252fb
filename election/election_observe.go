// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"iter"
)

// Observe returns the leader, and then each change of it, until ctx ends. There
// is no leader after a resignation, and when the leader has not renewed its
// lease for its whole duration. A watch of the key shows changes; of several
// changes close together Observe may return only the last one. If the engine
// can give no watch, Observe reads three times a lease. It tries again after
// transient errors of the engine.
//
// The last pair has the error: ctx's cause, or an error that is not transient.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		o := observer{Election: e}
		for first := true; ; first = false {
			before := o.status
			if err := o.readLeader(ctx); err != nil {
				yield(Status{}, err)
				return
			}
			if (first || o.status != before) && !yield(o.status, nil) {
				o.watch.Cancel()
				return
			}
			o.awaitChange(ctx)
		}
	}
}
