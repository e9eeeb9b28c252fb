// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"github.com/kazahana-db/kazahana/placement"
)

// Context returns a context that ends with the activation. Its cause is then
// [ErrDeactivated], or [placement.ErrActivationLost] if another owner may have the key: because the
// membership was lost or could not be renewed until its deadline, which is counted from before the
// renewal was sent, or because the fence said so. The contexts of calls and timers end with it.
func (a *Activation) Context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.ensureExtension()
	if m.ctx == nil {
		m.ctx, m.cancel = context.WithCancelCause(a.kind.session.ctx)
		if m.cause != nil {
			m.cancel(m.cause)
		}
	}
	return m.ctx
}

// contextFor returns the context of a call, a timer or a factory. It ends with the
// activation and with the caller's context, whose deadline it has. The returned function
// releases it.
func (a *Activation) contextFor(caller context.Context, chain []placement.Key) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a.kind.session.ctx)
	a.setCancel(cancel)
	deadline, bounded := caller.Deadline()
	stop := context.AfterFunc(caller, func() {
		if caller.Err() != context.DeadlineExceeded || !bounded {
			cancel(context.Cause(caller))
		}
	})
	end := context.CancelFunc(func() {})
	if bounded {
		ctx, end = context.WithDeadline(ctx, deadline)
	}
	return context.WithValue(ctx, chainKey{}, chain), func() {
		stop()
		end()
		a.setCancel(nil)
		cancel(context.Canceled)
	}
}

// setCancel stores the function that ends the context of the running call.
func (a *Activation) setCancel(cancel context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := a.ensureExtension()
	m.stop = cancel
	if cancel != nil && m.cause != nil {
		cancel(m.cause)
	}
}
