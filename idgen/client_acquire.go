// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"
)

// startKeeper starts the keeper once, and returns the channel that is closed
// when its first try has ended; nil if that has ended. The caller holds mu.
func (c *Client) startKeeper() <-chan struct{} {
	k := &c.keeper
	if k.isSettled {
		return nil
	}
	if !k.started {
		k.started = true
		go c.runKeeper()
	}
	return k.pending
}

// runKeeper acquires and releases leases until Shutdown.
func (c *Client) runKeeper() {
	defer close(c.keeper.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-c.keeper.wake:
		case <-c.keeper.ctx.Done():
			return
		}
		c.acquireOnce()
		if c.keeper.ctx.Err() == nil { // else Shutdown releases
			_ = c.releaseSpare(c.keeper.ctx)
		}
		timer.Reset(c.untilNextAcquire(time.Now()))
	}
}

// acquireOnce calls the provider once, if a request is due.
func (c *Client) acquireOnce() {
	c.lock()
	req, abandoned := c.nextRequest(time.Now()), c.keeper.abandoned
	if req == nil {
		c.unlock()
		return
	}
	ctx, cancel := context.WithTimeout(c.keeper.calls, acquireTimeout)
	defer cancel()
	c.keeper.cancel = cancel
	c.unlock()

	leases, err := c.opts.Provider.Acquire(ctx, *req)

	c.lock()
	defer c.unlock()
	c.keeper.cancel = nil
	switch {
	case abandoned != c.keeper.abandoned: // a copy of this process may have got the same reply
	case c.era.Load().mode == closed:
		for _, l := range leases {
			c.keeper.spare = append(c.keeper.spare, c.newHeldLease(l, c.clock.read(), time.Now()))
		}
	default:
		c.acceptGrant(leases, err)
	}
}

// nextRequest returns the request to make now, or nil. A request is repeated, with its
// key, until there is an answer.
func (c *Client) nextRequest(now time.Time) *AcquireRequest {
	k := &c.keeper
	if now.Before(k.retryAt) || c.era.Load().mode == closed {
		return nil
	}
	if k.request == nil && !c.newRequest(now) {
		return nil
	}
	k.tries++
	k.askedAt = now
	return k.request
}

// renewEnded lets the keeper replace the leases that have ended at ms by the
// client's clock, which may run ahead of the keeper's timer, and callers wait for
// it. In an outage, which the keeper knows from its last try, they do not.
func (c *Client) renewEnded(ms int64) {
	k, now := &c.keeper, time.Now()
	if k.failures > 0 || !c.leases.endRenewalTimes(ms, now) || c.leases.lastingThroughput(now) >= k.want {
		return
	}
	k.unsettle()
	least := k.askedAt.Add(max(c.opts.AcquireRetryInterval, k.floor))
	if k.retryAt.Before(least) && !k.wasLate {
		k.retryAt = least // a clock that goes back and forth costs no more
	}
	k.wakeUp()
}

// newRequest makes a new request if the leases that need no replacement are not
// enough. It asks for the missing positions; if these are the greater part, for
// all, so that one large lease takes the place of several small ones.
func (c *Client) newRequest(now time.Time) bool {
	k := &c.keeper
	overdue := len(c.leases.listDue(now, false)) > 0
	if overdue {
		c.lowerDemand()
	}
	lasting := c.leases.lastingThroughput(now)
	need := k.want - lasting
	if need <= 0 {
		k.failures = 0
		k.markSettled()
		if overdue {
			c.leases.markReplaced(now, false)
		}
		return false
	}
	k.anew = need > lasting
	if k.anew {
		need = k.want
	}
	k.tries = 0
	k.request = &AcquireRequest{
		ServiceID: c.opts.ServiceID, Meta: c.opts.Meta, Throughput: need, RequestKey: rand.Text(),
		Replaces: c.leases.listRefs(now, k.anew),
	}
	return true
}

// lowerDemand lowers want to what was needed, when leases are renewed.
func (c *Client) lowerDemand() {
	k := &c.keeper
	for peak := c.peak.Swap(0); k.want > firstThroughput && peak*2*growth <= int64(k.want); {
		k.want = max(k.want/growth, firstThroughput)
	}
}

// raiseDemand raises want, when a millisecond of e was used up.
func (c *Client) raiseDemand(e *era) {
	if e.mode != leased || e.span >= uint64(c.opts.MaxThroughput) {
		return
	}
	c.lock()
	defer c.unlock()
	if k := &c.keeper; k.request == nil && e.span >= uint64(k.want) && !time.Now().Before(k.growAt) {
		k.want = min(int(e.span)*growth, c.opts.MaxThroughput)
		k.wakeUp()
	}
}

// untilNextAcquire returns how long the keeper sleeps.
func (c *Client) untilNextAcquire(now time.Time) time.Duration {
	c.lock()
	defer c.unlock()
	k := &c.keeper
	next, ok := c.leases.nextRenewal(now)
	switch {
	case k.request != nil || c.leases.lastingThroughput(now) < k.want:
		next = k.retryAt
	case !ok:
		return idle
	}
	return max(next.Sub(now), 0)
}

// backoff returns how long to wait after a number of failures: the interval
// doubles with each, less a random part of up to half.
func (c *Client) backoff(failures int) time.Duration {
	d := c.opts.AcquireRetryInterval
	for range failures - 1 {
		if d >= c.opts.AcquireRetryMaxInterval/2 {
			d = c.opts.AcquireRetryMaxInterval
			break
		}
		d *= 2
	}
	return d - mathrand.N(d/2+1)
}

const (
	// firstThroughput is how many IDs of a millisecond a client leases at first.
	firstThroughput = 256

	// growth is by how much it multiplies them when a millisecond was used up.
	growth = 4

	// acquireTimeout is how long one call of the provider may take.
	acquireTimeout = 5 * time.Second

	// idle is when the keeper looks again if it has nothing to do.
	idle = time.Hour

	// keepShare divides the length of a lease: so much of it passes before the lease is
	// replaced, even if it ends earlier by the client's clock. So a client with a wrong
	// clock holds about as many leases, and not all that there are.
	keepShare = 64
)

// keeper is the state of a client's acquisitions. One goroutine calls the
// provider, one call at a time. The client's mu guards all fields below done.
type keeper struct {
	ctx    context.Context // ends with Shutdown
	stop   context.CancelFunc
	calls  context.Context // that of requests, which Shutdown lets end
	giveUp context.CancelFunc
	wake   chan struct{}
	done   chan struct{} // closed when the goroutine has ended
	ending chan struct{} // a lock: holds one value while Shutdown releases leases

	started  bool
	want     int // IDs of a millisecond to lease
	request  *AcquireRequest
	anew     bool          // its answer replaces all leases
	tries    int           // of the request
	failures int           // in sequence
	askedAt  time.Time     // last try
	wasLate  bool          // its answer came too late, and is asked for again at once
	floor    time.Duration // after a try, before the leases that it brought are replaced
	retryAt  time.Time
	growAt   time.Time // more is not asked for before, because it was refused
	lastErr  error
	cancel   context.CancelFunc // of the call under way
	spare    []*heldLease       // to release

	pending   chan struct{} // closed when the first try has ended
	isSettled bool
	doubted   time.Time // when the clock last jumped
	abandoned int       // how often the leases were; a reply to a call from before is not used
}

func (k *keeper) init(o Options) {
	k.ctx, k.stop = context.WithCancel(context.Background())
	k.calls, k.giveUp = context.WithCancel(context.Background())
	k.wake, k.done, k.ending = make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
	k.pending, k.isSettled = make(chan struct{}), o.Provider == nil
	k.want = min(firstThroughput, o.MaxThroughput)
}

// wakeUp wakes the goroutine.
func (k *keeper) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// hasTried reports whether the provider was asked without success since the
// clock jumped, or there is none.
func (k *keeper) hasTried() bool {
	return k.isSettled && k.cancel == nil && (!k.started || k.askedAt.After(k.doubted))
}

// hasFailed reports whether the last try has failed, or lasts so long that it counts as one: a
// provider may ignore the end of its context.
func (k *keeper) hasFailed() bool {
	return k.failures > 0 || k.cancel != nil && time.Since(k.askedAt) > acquireTimeout+lastAnswer
}

// beginEnding takes the lock of Shutdown. It reports false if ctx ended before.
func (k *keeper) beginEnding(ctx context.Context) bool {
	select {
	case k.ending <- struct{}{}:
		return true
	default:
	}
	select {
	case k.ending <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (k *keeper) markSettled() {
	if !k.isSettled {
		k.isSettled = true
		close(k.pending)
	}
}

// restart lets the keeper acquire at once, unless its last try has failed or
// was less than an interval ago.
func (k *keeper) restart(least time.Duration) {
	k.abandoned++
	k.request = nil
	if k.cancel != nil {
		k.cancel()
	}
	if k.failures == 0 {
		k.retryAt = k.askedAt.Add(least)
		k.unsettle()
	}
	k.wakeUp()
}

// unsettle makes callers wait for the next try.
func (k *keeper) unsettle() {
	if k.isSettled {
		k.isSettled, k.pending = false, make(chan struct{})
	}
}
