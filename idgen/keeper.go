// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"
)

const (
	// firstThroughput is how many IDs of a millisecond a client leases at first.
	firstThroughput = 256

	// growth is by how much it multiplies them when a millisecond was used up.
	growth = 4

	// acquireTimeout is how long one call of the provider may take.
	acquireTimeout = 5 * time.Second

	// idle is when the keeper looks again if it has nothing to do.
	idle = time.Hour
)

// keeper is what a client knows about acquiring leases. One goroutine calls the
// provider, one call at a time. All fields but the first ones are guarded by
// the client's mu.
type keeper struct {
	ctx  context.Context // ends with Shutdown
	stop context.CancelFunc
	wake chan struct{}
	done chan struct{} // closed when the goroutine has ended

	started  bool
	want     int // IDs of a millisecond to lease
	request  *AcquireRequest
	anew     bool      // what the request brings replaces all leases
	tries    int       // of the request
	failures int       // in sequence
	askedAt  time.Time // last try
	retryAt  time.Time
	growAt   time.Time // not to ask for more before, because it was refused
	lastErr  error
	cancel   context.CancelFunc // of the call under way
	spare    []*held            // to release

	pending   chan struct{} // closed when the first try has ended
	isSettled bool
	doubted   time.Time // when the clock jumped last
	abandoned int       // how often the leases were; a reply to a call from before is not used
}

func (k *keeper) init(o Options) {
	k.ctx, k.stop = context.WithCancel(context.Background())
	k.wake, k.done = make(chan struct{}, 1), make(chan struct{})
	k.pending, k.isSettled = make(chan struct{}), o.Provider == nil
	k.want = min(firstThroughput, o.MaxThroughputPerMs)
}

// rouse makes the goroutine look for work.
func (k *keeper) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// hasTried reports whether the provider was asked in vain since the clock
// jumped, or there is none.
func (k *keeper) hasTried() bool {
	return k.isSettled && k.cancel == nil && (!k.started || k.askedAt.After(k.doubted))
}

func (k *keeper) settle() {
	if !k.isSettled {
		k.isSettled = true
		close(k.pending)
	}
}

// awaited starts the keeper if it has not been, and returns what is closed when
// its first try has ended, or nil if that was. The caller holds mu.
func (c *Client) awaited() <-chan struct{} {
	k := &c.keeper
	if k.isSettled {
		return nil
	}
	if !k.started {
		k.started = true
		go c.keep()
	}
	return k.pending
}

// keep acquires and releases leases until Shutdown.
func (c *Client) keep() {
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
		c.acquire()
		c.releaseSpare(c.keeper.ctx)
		timer.Reset(c.untilNext(time.Now()))
	}
}

// acquire calls the provider once, if there is reason to.
func (c *Client) acquire() {
	c.lock()
	req, abandoned := c.due(time.Now()), c.keeper.abandoned
	if req == nil {
		c.unlock()
		return
	}
	ctx, cancel := context.WithTimeout(c.keeper.ctx, acquireTimeout)
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
			c.keeper.spare = append(c.keeper.spare, c.hold(l, c.clock.read(), time.Now()))
		}
	default:
		c.granted(leases, err)
	}
}

// due returns the request to make now, or nil. A request is repeated, with its
// key, until there is an answer.
func (c *Client) due(now time.Time) *AcquireRequest {
	k := &c.keeper
	if now.Before(k.retryAt) {
		return nil
	}
	if k.request == nil && !c.ask(now) {
		return nil
	}
	k.tries++
	k.askedAt = now
	return k.request
}

// ask makes a new request if the leases that count are not enough. It asks for
// what is missing; where that is the greater part, for all, so that one large
// lease takes the place of several small ones.
func (c *Client) ask(now time.Time) bool {
	k := &c.keeper
	overdue := c.holdings.overdue(now)
	if overdue {
		c.shrink()
	}
	lasting := c.holdings.lasting(now)
	need := k.want - lasting
	if need <= 0 {
		k.failures = 0
		if overdue {
			c.holdings.replace(now, false)
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
	}
	return true
}

// shrink lowers what is wanted to what was needed, when leases are renewed.
func (c *Client) shrink() {
	k := &c.keeper
	for peak := c.peak.Swap(0); k.want > firstThroughput && peak*2*growth <= int64(k.want); {
		k.want = max(k.want/growth, firstThroughput)
	}
}

// enlarge is called when a millisecond of e was used up.
func (c *Client) enlarge(e *era) {
	if e.mode != leased || e.span >= uint64(c.opts.MaxThroughputPerMs) {
		return
	}
	c.lock()
	defer c.unlock()
	if k := &c.keeper; k.request == nil && e.span >= uint64(k.want) && !time.Now().Before(k.growAt) {
		k.want = min(int(e.span)*growth, c.opts.MaxThroughputPerMs)
		k.rouse()
	}
}

// untilNext returns how long the keeper has nothing to do.
func (c *Client) untilNext(now time.Time) time.Duration {
	c.lock()
	defer c.unlock()
	k := &c.keeper
	next, ok := c.holdings.nextRenewal(now)
	switch {
	case k.request != nil || c.holdings.lasting(now) < k.want:
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
