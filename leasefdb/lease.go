// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Lease is a grant that is being renewed. All methods are safe for concurrent
// use.
type Lease struct {
	names  *Names
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when the renewing goroutine has ended
	lapse  *time.Timer   // ends ctx at the deadline

	mu    sync.Mutex
	grant Grant
}

// Grant returns the grant with its latest deadline.
func (l *Lease) Grant() Grant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grant
}

// Context returns a context that ends when the lease does. Its cause is then a
// *[LostError], an [ErrLeaseLost], or [ErrReleased]. The lease is lost when
// another has it, and when it could not be renewed until its deadline. That is
// counted from before the claim or the last renewal was sent: on a machine
// whose clock runs, the context ends before another can get the name. A machine
// that was suspended notices too late: only [Lease.Check] protects data.
func (l *Lease) Context() context.Context { return l.ctx }

// Fence is [Grant.Fence].
func (l *Lease) Fence() Fence { return l.Grant().Fence() }

// Check is [Grant.Check].
func (l *Lease) Check(ctx context.Context, tx kv.Transaction) error { return l.Grant().Check(ctx, tx) }

// Release ends the context with the cause [ErrReleased], waits until nothing
// renews the lease any more, and gives the name back: see [Grant.Release]. If
// that fails, others must wait until the lease has lapsed.
func (l *Lease) Release(ctx context.Context) error {
	l.cancel(ErrReleased)
	<-l.ended
	return l.Grant().Release(ctx, l.names.db)
}

// keepRenewing renews the lease until its context ends, and ends it when it is lost.
func (l *Lease) keepRenewing() {
	defer close(l.ended)
	defer l.lapse.Stop()
	next := time.NewTimer(l.nextPause(3))
	defer next.Stop()
	w := l.watchFence()
	defer func() { w.Cancel() }()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-w.Done():
			if _, failed := w.Get(l.ctx); failed != nil {
				w = neverWatch() // renewals will tell
				continue
			}
			w = l.watchFence()
		case <-next.C:
			next.Reset(l.renewGrant())
		}
	}
}

// nextPause returns how long to wait until the next renewal: about a part of the
// lease.
func (l *Lease) nextPause(parts int64) time.Duration {
	part := int64(l.Grant().Duration) / parts
	return time.Duration(part - rand.Int64N(part/5+1))
}

// renewGrant renews the grant and returns how long to wait until the next time.
func (l *Lease) renewGrant() time.Duration {
	g := l.Grant()
	ctx, cancel := context.WithDeadline(l.ctx, g.Deadline())
	defer cancel()
	g, err := g.Renew(ctx, l.names.db)
	if err != nil {
		l.noteFailure(err)
		return l.nextPause(12)
	}
	l.mu.Lock()
	l.grant = g
	l.mu.Unlock()
	l.lapse.Reset(time.Until(g.Deadline()))
	return l.nextPause(3)
}

// watchFence watches the fence key for another's claim. If it has changed
// already, the lease is lost.
func (l *Lease) watchFence() kv.Future[struct{}] {
	g := l.Grant()
	w, changed, err := watch(l.ctx, l.names.db, g.keys.fence, g.value)
	if changed && err == nil {
		err = l.names.db.Transact(l.ctx, func(tx kv.Transaction) error { return g.Check(l.ctx, tx) })
	}
	if err != nil || changed {
		l.noteFailure(err)
		return neverWatch()
	}
	return w
}

// noteFailure ends the context if it is certain that nothing renews the lease
// any more. Anything else may pass before the deadline.
func (l *Lease) noteFailure(err error) {
	switch {
	case errors.Is(err, ErrLeaseLost):
		l.cancel(err)
	case errors.Is(err, kv.ErrClosed):
		l.cancel(lapseError(l.Grant(), err))
	}
}
