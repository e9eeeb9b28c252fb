// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Acquire claims a name and waits until it gets it: at once if it is free, soon
// after the holder has released it, and once the holder has not renewed it for
// as long as its lease lasts. The lease is then renewed until [Lease.Release].
// ctx bounds the waiting, not the lease.
//
// If ctx ends while a claim is under way, the error wraps
// [kv.ErrOutcomeUnknown]: the name may then be held without being renewed.
func (n *Names) Acquire(ctx context.Context, name string, c Claim) (*Lease, error) {
	c = c.withDefaults()
	for {
		lease, err := n.TryAcquire(ctx, name, c)
		var held *HeldError
		if !errors.As(err, &held) {
			return lease, err
		}
		c.Seen = c.Seen.Observe(held.State)
		if err := n.awaitChange(ctx, held, c.Seen); err != nil {
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

// awaitChange waits until a held name may be free: its fence key changes, or the
// observed lease has lapsed, if it was not renewed meanwhile.
func (n *Names) awaitChange(ctx context.Context, held *HeldError, seen Observation) error {
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
			w = neverWatch() // the lease will lapse all the same
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
		return neverWatch(), false, nil
	}
	return w, changed, err
}

// neverWatch is a watch that never fires.
func neverWatch() kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

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
	l.lapse = time.AfterFunc(time.Until(g.Deadline()), func() { l.cancel(lapseError(g, nil)) })
	go l.keepRenewing()
	return l
}

// Watch returns the state of a name and a watch that becomes ready when the state has
// changed: when the name was claimed, renewed, given back or taken over. It may
// also become ready without a change, and fails where no watch can be had: see
// [kv.Transaction.Watch]. Cancel it when it is no longer needed. Given a
// transaction, the watch is armed by its commit. The directory of the names is
// created if there is none.
func (n *Names) Watch(ctx context.Context, t kv.Transactor, name string) (s State, w kv.Future[struct{}], err error) {
	if err := checkText("name", name); err != nil {
		return s, w, err
	}
	err = t.Transact(ctx, func(tx kv.Transaction) error {
		d, err := n.dirs.CreateOrOpen(ctx, tx, n.path)
		if err != nil {
			return err
		}
		k, err := keysOf(d, name)
		if err != nil {
			return err
		}
		w = tx.Watch(k.renewal)
		s, err = k.readState(ctx, tx, name)
		return err
	})
	return s, w, err
}
