// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// Resolve returns where to send messages for a key: Local once it is active here, or
// Remote. It blocks until that is known. It repeats attempts that failed with a retryable error (see
// core.IsRetryable), after random pauses that grow, until ctx ends; the error then wraps
// the context's cause and the last attempt's error. It waits for the first topology.
// placement.ErrStopped, placement.ErrInvalidKey and placement.ErrNoMember are
// returned at once, and so is a *core.ActivationError that is not retryable.
//
// A key that is active here is answered without a command, a goroutine and an
// allocation.
func (d *Driver) Resolve(ctx context.Context, key placement.Key) (r core.Resolution, err error) {
	var last error
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return core.Resolution{}, endedError(ctx, key, last)
		}
		if !d.silent {
			if err := d.awaitRoom(ctx, key); err != nil {
				return core.Resolution{}, err
			}
		}
		w, changed, err := d.tryResolve(key, nil, &r)
		if w != nil {
			r, err = d.awaitAnswer(ctx, key, w)
		}
		if err == nil || !core.IsRetryable(err) {
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
func (d *Driver) ResolveForwarded(ctx context.Context, key placement.Key, through ...placement.Owner) (core.Resolution, error) {
	r, err := d.Resolve(ctx, key)
	if err != nil || r.Locality != core.Remote || r.Epoch == 0 || !slices.Contains(through, r.Owner) {
		return r, err
	}
	d.Forget(key, placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch})
	return d.Resolve(ctx, key)
}

// ResolveAsync makes one attempt to resolve the key and calls done with the result, once:
// in this goroutine if it is known at once, else in another one. done must not block; it may
// call the driver.
func (d *Driver) ResolveAsync(key placement.Key, done func(core.Resolution, error)) {
	if d.isLagging() {
		done(core.Resolution{}, d.errLagging(key))
		return
	}
	var r core.Resolution
	if w, _, err := d.tryResolve(key, done, &r); w == nil {
		done(r, err)
	}
}

// tryResolve asks the coordinator once. The answer is in r and err if w is nil; otherwise
// done gets it later, or the waiter's channel if done is nil. changed is closed when a
// topology comes into force after the attempt.
func (d *Driver) tryResolve(key placement.Key, done func(core.Resolution, error), r *core.Resolution) (w *waiter, changed <-chan struct{}, err error) {
	w, changed, e, err := d.resolveOnce(key, done, r)
	if e != nil {
		d.applyEffects(*e)
	}
	return w, changed, err
}

// resolveOnce is tryResolve, without the effects: nil if there are none. A panic, of
// Options.Now for example, leaves the driver unlocked.
func (d *Driver) resolveOnce(key placement.Key, done func(core.Resolution, error), r *core.Resolution) (w *waiter, changed <-chan struct{}, e *effects, err error) {
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

// awaitAnswer waits for the answer. When ctx ends it returns placement.ErrPending.
func (d *Driver) awaitAnswer(ctx context.Context, key placement.Key, w *waiter) (core.Resolution, error) {
	select {
	case a := <-w.answer:
		return a.resolution, a.err
	case <-ctx.Done():
		d.abandonWaiter(w)
		return core.Resolution{}, fmt.Errorf("%w: %s waits for request %d", placement.ErrPending, key, w.request)
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

// addWaiter adds a resolve to the waiters of a request. The caller holds d.mu.
func (d *Driver) addWaiter(id placement.RequestID, done func(core.Resolution, error)) *waiter {
	w := &waiter{request: id, done: done}
	if done == nil {
		w.answer = make(chan answer, 1)
		w.done = func(r core.Resolution, err error) { w.answer <- answer{resolution: r, err: err} }
	}
	waiting := d.waiters[id]
	if waiting == nil {
		waiting = list.New()
		d.waiters[id] = waiting
	}
	w.place = waiting.PushBack(w)
	return w
}

// abandonWaiter removes a waiter after its context has ended.
func (d *Driver) abandonWaiter(w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := d.waiters[w.request]
	if waiting == nil {
		return // its answer is on the way
	}
	waiting.Remove(w.place)
	if waiting.Len() == 0 {
		delete(d.waiters, w.request)
	}
	d.core.Abandon(w.request)
}

// takeAnswers returns the answers for the waiters of a request, in the order in which they
// came. The caller holds d.mu.
func (d *Driver) takeAnswers(a core.Answer) []answer {
	waiting := d.waiters[a.Request]
	if waiting == nil {
		return nil
	}
	delete(d.waiters, a.Request)
	answers := make([]answer, 0, waiting.Len())
	for e := waiting.Front(); e != nil; e = e.Next() {
		answers = append(answers, answer{done: e.Value.(*waiter).done, resolution: a.Resolution, err: a.Err})
	}
	return answers
}

// waiter is a resolve that waits for the answer to a request.
type waiter struct {
	request placement.RequestID
	place   *list.Element // in the list of the request's waiters
	done    func(core.Resolution, error)
	answer  chan answer // of a waiter without another done
}

// Flush waits until the handlers have handled all events, also those that come in the
// meantime. A handler must not call it: it would wait for itself.
func (d *Driver) Flush(ctx context.Context) error {
	if err := d.events.awaitBelow(ctx, 1); err != nil {
		return err
	}
	return d.cached.awaitBelow(ctx, 1)
}

// isLagging reports whether so many events wait for their handlers that resolves must wait.
func (d *Driver) isLagging() bool { return d.events.isFull() || d.cached.isFull() }

// awaitRoom waits while too many events wait for their handlers, but no longer than
// a command may take, so that a handler that resolves does not wait for itself for
// ever.
func (d *Driver) awaitRoom(ctx context.Context, key placement.Key) error {
	if !d.isLagging() {
		return nil
	}
	if d.options.Runner != nil {
		return d.errLagging(key)
	}
	within, cancel := context.WithTimeout(ctx, d.options.CommandTimeout)
	defer cancel()
	for d.isLagging() {
		if d.events.awaitBelow(within, d.options.EventBuffer) == nil && d.cached.awaitBelow(within, d.options.EventBuffer) == nil {
			continue
		}
		if ctx.Err() != nil {
			return endedError(ctx, key, d.errLagging(key))
		}
		return d.errLagging(key)
	}
	return nil
}

func (d *Driver) errLagging(key placement.Key) error {
	return fmt.Errorf("driver: resolving %s: %w: %d events wait for their handlers", key, placement.ErrOverloaded, max(d.events.left.Load(), d.cached.left.Load()))
}
