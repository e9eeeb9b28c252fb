// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Resolve returns where to send what is for a key: Local once it is active here,
// or Remote. It blocks until that is known, and tries again, after random pauses that
// grow, what placement.IsRetryable says, until ctx ends; the error then wraps the
// context's cause and the last attempt's error. It waits for the first topology.
// placement.ErrStopped, a *placement.KeyError and a *placement.NoMemberError are
// returned at once, and so is a *placement.ActivationError that is not retryable.
//
// A key that is active here is answered without a command, a goroutine and an
// allocation.
func (d *Driver) Resolve(ctx context.Context, key placement.Key) (placement.Resolution, error) {
	var last error
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return placement.Resolution{}, ended(ctx, key, last)
		}
		if err := d.awaitRoom(ctx, key); err != nil {
			return placement.Resolution{}, err
		}
		a := d.attempt(key, nil)
		if a.waiter != nil {
			a.resolution, a.err = d.await(ctx, key, a.waiter)
		}
		if a.err == nil || !placement.IsRetryable(a.err) {
			return a.resolution, a.err
		}
		last = a.err
		d.pause(ctx, n, a)
	}
}

// ResolveAsync makes one attempt to resolve the key and tells done the result, once:
// in this goroutine if it is known at once, else in the one that learns of it. done must
// not block; it may call the driver.
func (d *Driver) ResolveAsync(key placement.Key, done func(placement.Resolution, error)) {
	if d.behind() {
		done(placement.Resolution{}, d.errBehind(key))
		return
	}
	if a := d.attempt(key, done); a.waiter == nil {
		done(a.resolution, a.err)
	}
}

// attempt is one resolve by the coordinator.
type attempt struct {
	resolution placement.Resolution
	err        error
	waiter     *waiter         // of a resolve that has no answer yet
	changed    <-chan struct{} // closed when another topology is in force
}

// attempt asks the coordinator once. If there is no answer yet, done gets it; nil:
// the waiter's channel does.
func (d *Driver) attempt(key placement.Key, done func(placement.Resolution, error)) attempt {
	var a attempt
	d.mu.Lock()
	out, err := d.core.Resolve(key, d.options.Now())
	a.err, a.changed = err, d.changed
	switch {
	case out.Resolution != nil:
		a.resolution = *out.Resolution
	case err == nil:
		a.waiter = d.wait(out.Request, done)
	}
	e := d.absorb(out)
	d.mu.Unlock()
	d.apply(e)
	return a
}

// await waits for the answer. When the context ends it returns what it waits for.
func (d *Driver) await(ctx context.Context, key placement.Key, w *waiter) (placement.Resolution, error) {
	select {
	case a := <-w.answer:
		return a.resolution, a.err
	case <-ctx.Done():
		d.abandon(w)
		return placement.Resolution{}, &placement.PendingError{Key: key, Request: w.request}
	}
}

// pause waits between attempt n and the next. What waits for a topology goes on when
// another is in force.
func (d *Driver) pause(ctx context.Context, n int, a attempt) {
	b := d.options.Backoff
	limit := b.Max
	if n < 30 {
		limit = min(b.Max, b.First<<n)
	}
	if !errors.Is(a.err, placement.ErrNotReady) && !errors.Is(a.err, placement.ErrTopologyBehind) {
		a.changed = nil
	}
	timer := time.NewTimer(1 + rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.changed:
	case <-ctx.Done():
	}
}

func ended(ctx context.Context, key placement.Key, last error) error {
	err := fmt.Errorf("driver: resolving %s: %w", key, context.Cause(ctx))
	if last != nil {
		err = fmt.Errorf("%w; the last attempt: %w", err, last)
	}
	return err
}
