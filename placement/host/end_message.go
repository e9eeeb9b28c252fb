// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Deactivator is implemented by values of factories that want to be told of the end of
// their activation. Deactivate runs after the last call. The fence of the activation still
// holds, unless the activation was lost: then [Activation.Context] has ended. ctx
// ends after [Options.DeactivateTimeout].
type Deactivator interface {
	Deactivate(ctx context.Context) error
}

// endMessage is the last message in the mailbox of an activation.
type endMessage struct {
	message
	cause placement.Cause
	done  chan struct{} // closed when it has run
	err   error         // of Deactivate
}

// await waits until the end has run, ctx has ended or a time has passed.
func (e *endMessage) await(ctx context.Context, most time.Duration) bool {
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	select {
	case <-e.done:
		return true
	case <-timeout.C:
	case <-ctx.Done():
	}
	return false
}

// run implements [work].
func (e *endMessage) run(a *Activation) {
	defer close(e.done)
	defer a.finishEnd(e.cause)
	e.err = a.callDeactivate()
}

// refuse implements [work].
func (e *endMessage) refuse(error) {}
