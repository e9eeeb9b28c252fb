// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Resolve returns where to send messages for a key: Local once it is active here, or
// Remote. It blocks until that is known. It repeats attempts whose error is retryable by
// placement.IsRetryable, after random pauses that grow, until ctx ends; the error then wraps
// the context's cause and the last attempt's error. It waits for the first topology.
// placement.ErrStopped, a *placement.KeyError and a *placement.NoMemberError are
// returned at once, and so is a *placement.ActivationError that is not retryable.
//
// A key that is active here is answered without a command, a goroutine and an
// allocation.
func (d *Driver) Resolve(ctx context.Context, key placement.Key) (r placement.Resolution, err error) {
	var last error
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return placement.Resolution{}, endedError(ctx, key, last)
		}
		if !d.silent {
			if err := d.awaitRoom(ctx, key); err != nil {
				return placement.Resolution{}, err
			}
		}
		w, changed, err := d.tryResolve(key, nil, &r)
		if w != nil {
			r, err = d.awaitAnswer(ctx, key, w)
		}
		if err == nil || !placement.IsRetryable(err) {
			return r, err
		}
		last = err
		d.pauseAfter(ctx, n, err, changed)
	}
}

// ResolveForwarded is [Driver.Resolve] for a call that other members have sent on to
// this one. They do not have the key, so a known location that names one of them is
// wrong: the driver forgets it and resolves again, for which it may claim the key.
// Resolve would send the call back, and the members could pass it to each other for
// ever. If the resolution names such a member all the same, the home or the strategy
// does: the call is to be refused.
func (d *Driver) ResolveForwarded(ctx context.Context, key placement.Key, through ...placement.Owner) (placement.Resolution, error) {
	r, err := d.Resolve(ctx, key)
	if err != nil || r.Locality != placement.Remote || r.Epoch == 0 || !slices.Contains(through, r.Owner) {
		return r, err
	}
	d.Forget(key, placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch})
	return d.Resolve(ctx, key)
}

// ResolveAsync makes one attempt to resolve the key and calls done with the result, once:
// in this goroutine if it is known at once, else in another one. done must not block; it may
// call the driver.
func (d *Driver) ResolveAsync(key placement.Key, done func(placement.Resolution, error)) {
	if d.isBehind() {
		done(placement.Resolution{}, d.errBehind(key))
		return
	}
	var r placement.Resolution
	if w, _, err := d.tryResolve(key, done, &r); w == nil {
		done(r, err)
	}
}

// tryResolve asks the coordinator once. The answer is in r and err if w is nil; otherwise
// done gets it later, or the waiter's channel if done is nil. changed is closed when a
// topology comes into force after the attempt.
func (d *Driver) tryResolve(key placement.Key, done func(placement.Resolution, error), r *placement.Resolution) (w *waiter, changed <-chan struct{}, err error) {
	w, changed, e, err := d.resolveOnce(key, done, r)
	if e != nil {
		d.applyEffects(*e)
	}
	return w, changed, err
}

// resolveOnce is tryResolve, without the effects: nil if there are none. A panic, of
// Options.Now for example, leaves the driver unlocked.
func (d *Driver) resolveOnce(key placement.Key, done func(placement.Resolution, error), r *placement.Resolution) (w *waiter, changed <-chan struct{}, e *effects, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out, err := d.core.Resolve(key, d.options.Now())
	if out.Resolution != nil {
		*r = *out.Resolution
		if d.silent && len(out.Commands) == 0 && len(out.Answers) == 0 {
			return nil, nil, nil, nil
		}
	} else if err == nil {
		w = d.addWaiter(out.Request, done)
	}
	taken := d.takeOutcome(out)
	return w, d.changed, &taken, err
}

// awaitAnswer waits for the answer. When ctx ends it returns a *placement.PendingError.
func (d *Driver) awaitAnswer(ctx context.Context, key placement.Key, w *waiter) (placement.Resolution, error) {
	select {
	case a := <-w.answer:
		return a.resolution, a.err
	case <-ctx.Done():
		d.abandonWaiter(w)
		return placement.Resolution{}, &placement.PendingError{Key: key, Request: w.request}
	}
}

// pauseAfter waits between attempt n, which has failed with err, and the next. If
// err asks for another topology, it returns when one comes into force.
func (d *Driver) pauseAfter(ctx context.Context, n int, err error, changed <-chan struct{}) {
	b := d.options.Backoff
	limit := b.Max
	if n < 30 {
		limit = min(b.Max, b.First<<n)
	}
	if !errors.Is(err, placement.ErrNotReady) && !errors.Is(err, placement.ErrTopologyBehind) {
		changed = nil
	}
	timer := time.NewTimer(1 + rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
	}
}

func endedError(ctx context.Context, key placement.Key, last error) error {
	err := fmt.Errorf("driver: resolving %s: %w", key, context.Cause(ctx))
	if last != nil {
		err = fmt.Errorf("%w; the last attempt: %w", err, last)
	}
	return err
}
