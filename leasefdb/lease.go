// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Acquire claims a name and waits until it gets it: at once if it is free, soon
// after the holder has released it, and once the holder has not renewed it for
// as long as its lease lasts. The lease is then renewed until [Lease.Release].
// ctx bounds the waiting, not the lease.
//
// If ctx ends while a claim is under way, the error wraps
// [kv.ErrOutcomeUnknown]: the name may then be held, by nobody who renews it.
func (n *Names) Acquire(ctx context.Context, name string, c Claim) (*Lease, error) {
	c = c.withDefaults()
	for {
		lease, err := n.TryAcquire(ctx, name, c)
		var held *HeldError
		if !errors.As(err, &held) {
			return lease, err
		}
		c.Seen = c.Seen.Observe(held.State)
		if err := n.wait(ctx, held, c.Seen); err != nil {
			return nil, fmt.Errorf("leasefdb: gave up waiting for %q, which is held by %q: %w", name, held.State.Holder, err)
		}
	}
}

// TryAcquire is [Names.Acquire] that does not wait: if the name is another's,
// the error is a *[HeldError].
func (n *Names) TryAcquire(ctx context.Context, name string, c Claim) (*Lease, error) {
	g, err := n.Claim(ctx, n.db, name, c)
	if err != nil {
		return nil, err
	}
	return n.Keep(ctx, g), nil
}

// wait waits until a held name may be had: its fence key changes, or the
// observed lease has lapsed, if it was not renewed meanwhile.
func (n *Names) wait(ctx context.Context, held *HeldError, seen Observation) error {
	lapse := time.NewTimer(seen.Remaining())
	defer lapse.Stop()
	w, changed, err := watch(ctx, n.db, held.fence, held.State.encode())
	if err != nil || changed {
		return err
	}
	defer func() { w.Cancel() }()
	for {
		select {
		case <-w.Done():
			if _, failed := w.Get(ctx); failed == nil {
				return nil
			}
			w = unwatched() // the lease will lapse all the same
		case <-lapse.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watch watches a key for another value than the one given; changed says that
// it has one already. Where no watch can be had, because there are too many for
// instance, it is one that never fires: watches only save time.
func watch(ctx context.Context, db kv.Database, key, value []byte) (w kv.Future[struct{}], changed bool, err error) {
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		found, err := tx.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		if changed = !bytes.Equal(found, value); !changed {
			w = tx.Watch(key)
		}
		return nil
	})
	if code := kv.CodeOf(err); code == kv.CodeTooManyWatches || code == kv.CodeWatchesDisabled {
		return unwatched(), false, nil
	}
	return w, changed, err
}

// unwatched is a watch that never fires.
func unwatched() kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

// Lease is a grant that is being renewed. All methods are safe for concurrent
// use.
type Lease struct {
	names  *Names
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  chan struct{} // closed when nobody renews it any more
	lapse  *time.Timer   // ends ctx at the deadline

	mu    sync.Mutex
	grant Grant
}

// Keep renews a grant until it is released or lost. Values of ctx are kept, its
// end is not. End it with [Lease.Release].
func (n *Names) Keep(ctx context.Context, g Grant) *Lease {
	l := &Lease{names: n, grant: g, ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if g.keys.fence == nil {
		l.cancel(errNoGrant)
		close(l.ended)
		return l
	}
	l.lapse = time.AfterFunc(time.Until(g.Deadline()), func() { l.cancel(lapsed(g, nil)) })
	go l.keep()
	return l
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

// keep renews the lease until its context ends, and ends it when it is lost.
func (l *Lease) keep() {
	defer close(l.ended)
	defer l.lapse.Stop()
	next := time.NewTimer(l.pause(3))
	defer next.Stop()
	w := l.watchFence()
	defer func() { w.Cancel() }()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-w.Done():
			if _, failed := w.Get(l.ctx); failed != nil {
				w = unwatched() // renewals will tell
				continue
			}
			w = l.watchFence()
		case <-next.C:
			next.Reset(l.renew())
		}
	}
}

// pause returns how long to wait until the next renewal: about a part of the
// lease.
func (l *Lease) pause(parts int64) time.Duration {
	part := int64(l.Grant().Duration) / parts
	return time.Duration(part - rand.Int64N(part/5+1))
}

// renew renews the lease and returns how long to wait until the next time.
func (l *Lease) renew() time.Duration {
	g := l.Grant()
	ctx, cancel := context.WithDeadline(l.ctx, g.Deadline())
	defer cancel()
	g, err := g.Renew(ctx, l.names.db)
	if err != nil {
		l.noteFailure(err)
		return l.pause(12)
	}
	l.mu.Lock()
	l.grant = g
	l.mu.Unlock()
	l.lapse.Reset(time.Until(g.Deadline()))
	return l.pause(3)
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
		return unwatched()
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
		l.cancel(lapsed(l.Grant(), err))
	}
}
