// SPDX-License-Identifier: Apache-2.0

package idgen

import (
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
		return eraWait{}, fmt.Errorf("%w: %w", &LeaseAcquisitionError{Cause: c.lackCause()}, context.Cause(wait.ctx))
	case p.mode == continued:
		c.changeEra(c.leasedEra(p))
		return eraWait{}, nil
	case wait.ended:
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
		cause = errors.Join(fmt.Errorf("the next lease begins in %v; this machine's clock is behind the provider's", early), cause)
	}
	return &LeaseAcquisitionError{Cause: cause}
}

// errLeasesOver is why there is no lease while the keeper replaces those there were.
var errLeasesOver = errors.New("the leases there were are over, others are being acquired")

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
	e.init(e.layout.BitTs, last, &c.tallies[e.mode])
	c.era.Store(e)
}

// noteMode logs where fallback begins and ends.
func (c *Client) noteMode(m mode) {
	if c.opts.Provider == nil {
		return
	}
	switch fallback := m == continued || m == random; {
	case fallback && c.logged != m:
		c.logLater(slog.LevelWarn, "idgen: no valid lease, making fallback IDs", "mode", m.String(), "cause", c.keeper.lastErr)
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
