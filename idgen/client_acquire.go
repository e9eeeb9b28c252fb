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
		ServiceID: c.opts.ServiceID, Meta: c.opts.Meta, ThroughputPerMs: need, RequestKey: rand.Text(),
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
	if e.mode != leased || e.span >= uint64(c.opts.MaxThroughputPerMs) {
		return
	}
	c.lock()
	defer c.unlock()
	if k := &c.keeper; k.request == nil && e.span >= uint64(k.want) && !time.Now().Before(k.growAt) {
		k.want = min(int(e.span)*growth, c.opts.MaxThroughputPerMs)
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
