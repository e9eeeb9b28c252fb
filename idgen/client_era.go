// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// advanceEra replaces an era that does not cover the time of r by one that
// does, waits for the lease that one needs, or returns why there is none.
func (c *Client) advanceEra(e *era, r clockSample, wait *waitState) error {
	c.lock()
	pause, err := c.chooseEra(e, r, wait)
	c.unlock()
	if err != nil || pause == (eraWait{}) {
		return err
	}
	wait.slept += pause.length
	var over <-chan time.Time
	if pause.length > 0 {
		timer := time.NewTimer(pause.length)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-pause.settled:
	case <-wait.ctx.Done(): // choose decides what that means
	}
	return nil
}

// eraWait is how long to wait: until settled is closed, or for length.
type eraWait struct {
	settled <-chan struct{}
	length  time.Duration
}

// chooseEra does the work of advanceEra except for the waiting. The caller
// holds mu.
func (c *Client) chooseEra(e *era, r clockSample, wait *waitState) (eraWait, error) {
	if c.era.Load() != e {
		return eraWait{}, nil // another caller did
	}
	if e.mode == closed {
		return eraWait{}, ErrClosed
	}
	p := c.leases.choose(r.ms, c.layout)
	if p.mode != leased {
		c.renewEnded(r.ms)
	}
	settled := c.startKeeper()
	if p.mode == continued && !c.opts.DisableFallback && time.Now().Before(c.keeper.retryAt) {
		settled = nil // continued IDs are unique, and the keeper asks later
	}
	switch {
	case p.mode == leased:
		c.changeEra(c.leasedEra(p))
	case p.next-maxLeaseWait.Milliseconds() <= r.ms && wait.slept < maxLeaseWait: // a lease begins soon
		return c.pauseUnlessEnded(p, r, wait, eraWait{length: min(time.Duration(p.next-r.ms)*time.Millisecond, waitSlice)})
	case settled != nil:
		return c.pauseUnlessEnded(p, r, wait, eraWait{settled: settled})
	case c.opts.DisableFallback:
		return eraWait{}, c.acquisitionError(p, r)
	case p.mode == continued:
		c.changeEra(c.leasedEra(p))
	default:
		c.changeEra(c.randomEra(r.ms, p.until))
	}
	return eraWait{}, nil
}

// pauseUnlessEnded returns pause if ctx has not ended. Otherwise it begins an
// era of fallback IDs, if that is permitted; one of random IDs lasts for a
// millisecond, and other callers go on waiting.
func (c *Client) pauseUnlessEnded(p leaseChoice, r clockSample, wait *waitState, pause eraWait) (eraWait, error) {
	switch {
	case wait.ctx.Err() == nil:
		return pause, nil
	case c.opts.DisableFallback:
		return eraWait{}, fmt.Errorf("%w: %w", newAcquisitionError(c.lackCause()), context.Cause(wait.ctx))
	case p.mode == continued:
		c.changeEra(c.leasedEra(p))
		return eraWait{}, nil
	case wait.ended, c.opts.FallbackAfterFailure && !c.keeper.hasFailed():
		return eraWait{}, fmt.Errorf("idgen: gave up waiting for a lease: %w", context.Cause(wait.ctx))
	}
	c.changeEra(c.randomEra(r.ms, r.ms+1))
	return eraWait{}, nil
}

// acquisitionError says why there is no lease.
func (c *Client) acquisitionError(p leaseChoice, r clockSample) error {
	cause := c.lackCause()
	if p.next != forever {
		early := time.Duration(p.next-r.ms) * time.Millisecond
		cause = errors.Join(fmt.Errorf("the next lease begins in %v; this machine's clock lags the provider's", early), cause)
	}
	return newAcquisitionError(cause)
}

var (
	// errLeasesOver is why there is no lease while the keeper replaces those there were.
	errLeasesOver = errors.New("the leases there were are over, others are being acquired")
	// errFirstLease is why an impatient caller gets a fallback ID.
	errFirstLease = errors.New("the provider has not granted the first lease before the caller's context ended")
)

// lackCause says why there is no lease: nil while the first one is being acquired.
func (c *Client) lackCause() error {
	if c.keeper.lastErr == nil && c.counts.Acquires > 0 {
		return errLeasesOver
	}
	return c.keeper.lastErr
}

// changeEra ends the era in force and begins next. The caller holds mu.
func (c *Client) changeEra(next *era) {
	old := c.era.Load()
	last := old.close()
	if last != old.first {
		for _, l := range old.leases {
			l.last = max(l.last, old.lastMs(last))
		}
	}
	c.beginEra(next, next.timestampAfter(old, last))
	c.noteMode(next.mode)
	if next.mode == leased {
		c.queueReleases(next)
	}
}

// beginEra makes e the era in force. Its first timestamp is after last.
func (c *Client) beginEra(e *era, last uint64) {
	e.init(e.layout.TimestampBits, last, &c.tallies[e.mode])
	c.era.Store(e)
}

// noteMode logs where fallback begins and ends.
func (c *Client) noteMode(m mode) {
	if c.opts.Provider == nil {
		return
	}
	switch fallback := m == continued || m == random; {
	case fallback && c.logged != m:
		c.logLater(slog.LevelWarn, "idgen: no valid lease, making fallback IDs", "mode", m.String(), "cause", cmp.Or(c.lackCause(), errFirstLease))
	case m == leased && c.logged != leased && c.logged != waiting:
		c.logLater(slog.LevelInfo, "idgen: fallback ended, IDs are leased again")
	case m == waiting || m == closed:
		return
	}
	c.logged = m
}

// queueReleases queues for release the leases that e replaces.
func (c *Client) queueReleases(e *era) {
	for _, l := range e.leases {
		if l.replaced {
			return // its replacement is not valid yet
		}
	}
	if spare := c.leases.takeSpare(e.leases); len(spare) > 0 {
		c.keeper.spare = append(c.keeper.spare, spare...)
		c.keeper.wakeUp()
	}
}

// leasedEra returns an era of the chosen leases.
func (c *Client) leasedEra(p leaseChoice) *era {
	e := c.newEra(p.mode, p.from, p.until)
	flag := uint64(0)
	if p.mode == continued {
		flag = c.layout.fallbackBit()
	}
	e.leases = p.leases
	spans := make([]span, len(p.leases))
	for i, l := range p.leases {
		spans[i] = l.positionSpan()
		spans[i].base += flag
	}
	e.span = min(e.layOut(spans), uint64(c.opts.MaxThroughput))
	e.start = func() uint64 { return 0 }
	if half := (e.span + 1) / 2; c.opts.SpreadSequence {
		e.start = func() uint64 { return c.random() % half }
	}
	return e
}

// randomEra returns an era of random fallback IDs. A managed client leaves out
// the positions in which holders of leases may be continuing.
func (c *Client) randomEra(from, until int64) *era {
	e := c.newEra(random, from, until)
	half := c.layout.fallbackBit()
	reserved := uint64(0)
	if c.opts.Provider != nil {
		reserved = c.layout.FallbackPositions()
	}
	size := half - reserved // a power of two
	e.span = e.layOut([]span{{half + reserved, size}})
	e.start = func() uint64 { return c.random() & (size - 1) }
	return e
}

// initialEra returns the era of a client that has no lease: it waits for one,
// or is in standalone mode.
func (c *Client) initialEra() *era {
	if c.opts.Provider == nil {
		return c.randomEra(0, forever)
	}
	return c.emptyEra(waiting)
}

// emptyEra returns an era without IDs.
func (c *Client) emptyEra(m mode) *era { return c.newEra(m, forever, forever) }

func (c *Client) newEra(m mode, from, until int64) *era {
	l := c.layout
	return &era{mode: m, layout: l, epoch: l.CustomEpoch, lowBits: uint(l.lowBits()), from: from, until: until}
}

// handleJump decides which time to use while the wall clock is far ahead. The
// first call that notices a jump abandons the leases: a copy of this process
// may be using them.
func (c *Client) handleJump() clockSample {
	c.lock()
	defer c.unlock()
	r := c.clock.read()
	if !r.isAhead() {
		return r // it is over
	}
	if c.clock.noticeJump(r) {
		c.counts.ClockForward++
		c.logLater(slog.LevelWarn, "idgen: the clock jumped ahead of the monotonic clock", "ms", r.wall-r.ms)
		c.keeper.doubted = time.Now()
		c.abandonLeases()
	}
	steady := c.leases.choose(r.ms, c.layout)
	denied := steady.mode != waiting || steady.next != forever // a lease of a time close to r.ms
	early := r.ms < c.layout.First().UnixMilli()               // no ID can be made by that time
	if early || !denied && c.clock.hasLasted(r) && c.keeper.hasTried() {
		return c.believeJump(r)
	}
	return r
}

// witnessJump believes the wall clock of r, which is ahead, if leases that have
// just come say so: they begin at a time of the provider between the request and
// now, which is closer to the wall clock than to the monotonic one. Leases that
// came before the jump was noticed say nothing. The caller holds mu.
func (c *Client) witnessJump(r clockSample, now time.Time, fresh []*heldLease) clockSample {
	if !r.isAhead() || c.clock.jumped.Load() == 0 {
		return r
	}
	took := now.Sub(c.keeper.askedAt).Milliseconds()
	between := r.ms + (r.wall-took-r.ms)/2 // from what the wall clock said then to what the monotonic one says now
	for _, l := range fresh {
		if l.Created > between && r.wall < l.Expired {
			return c.believeJump(r)
		}
	}
	return r
}

// believeJump makes the wall clock of r the time to go by. The caller holds mu.
func (c *Client) believeJump(r clockSample) clockSample {
	c.clock.believeJump(r)
	c.logLater(slog.LevelInfo, "idgen: the clock is believed after its jump", "ms", r.wall-r.ms)
	r.ms = r.wall
	return r
}

// AfterRestore tells the client that its process may be a copy of another one
// that goes on: a virtual machine was cloned or restored from a snapshot, or a
// checkpoint of the process was. The client abandons its leases without giving
// them back, since the other one may be using them, and acquires others before
// it makes a further ID. Call it before anything else makes an ID: a client
// notices by itself only that the clock is set right, if that is a step of more
// than five seconds, and in the next millisecond, which is too late for IDs made
// before.
func (c *Client) AfterRestore() {
	c.lock()
	defer c.unlock()
	c.abandonLeases()
}

// abandonLeases drops the leases without releasing them. It drops a request under
// way, too, since a copy of this process may get the same reply. The caller holds mu.
func (c *Client) abandonLeases() {
	k := &c.keeper
	if c.era.Load().mode == closed {
		return
	}
	c.leases.leases, k.spare = nil, nil
	if c.opts.Provider != nil {
		k.restart(c.opts.AcquireRetryInterval)
	}
	c.changeEra(c.initialEra())
}
