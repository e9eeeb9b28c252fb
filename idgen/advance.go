// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// advance replaces an era that does not cover the time of r by one that does,
// waits a while for what would make one possible, or returns why there is none.
func (c *Client) advance(e *era, r reading, wait *patience) error {
	c.lock()
	pause, err := c.choose(e, r, wait)
	c.unlock()
	if err != nil || pause == (interval{}) {
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

// interval is how long to wait: until a channel is closed, or for a time.
type interval struct {
	settled <-chan struct{}
	length  time.Duration
}

// choose does what advance says, but leaves the waiting to it. The caller holds
// mu.
func (c *Client) choose(e *era, r reading, wait *patience) (interval, error) {
	if c.era.Load() != e {
		return interval{}, nil // somebody else did
	}
	if e.mode == closed {
		return interval{}, ErrClosed
	}
	p := c.holdings.plan(r.ms, c.layout)
	settled := c.awaited()
	switch {
	case p.mode == leased:
		c.change(c.leasedEra(p))
	case p.next-maxLeaseWait.Milliseconds() <= r.ms && wait.slept < maxLeaseWait: // a lease begins soon
		return c.unlessEnded(r, wait, interval{length: min(time.Duration(p.next-r.ms)*time.Millisecond, waitSlice)})
	case settled != nil:
		return c.unlessEnded(r, wait, interval{settled: settled})
	case c.opts.DisableFallback:
		return interval{}, c.acquisitionError(p, r)
	case p.mode == continued:
		c.change(c.leasedEra(p))
	default:
		c.change(c.randomEra(r.ms, p.until))
	}
	return interval{}, nil
}

// unlessEnded returns pause if the caller still has the patience. If ctx has
// ended meanwhile, there is a random fallback ID, if that is possible, in an era
// of one millisecond: others go on waiting.
func (c *Client) unlessEnded(r reading, wait *patience, pause interval) (interval, error) {
	switch {
	case wait.ctx.Err() == nil:
		return pause, nil
	case c.opts.DisableFallback:
		return interval{}, fmt.Errorf("%w: %w", &LeaseAcquisitionError{Cause: c.keeper.lastErr}, context.Cause(wait.ctx))
	case wait.ended:
		return interval{}, fmt.Errorf("idgen: gave up waiting for a lease: %w", context.Cause(wait.ctx))
	}
	c.change(c.randomEra(r.ms, r.ms+1))
	return interval{}, nil
}

// acquisitionError says why there is no lease.
func (c *Client) acquisitionError(p plan, r reading) error {
	cause := c.keeper.lastErr
	if p.next != forever {
		early := time.Duration(p.next-r.ms) * time.Millisecond
		cause = errors.Join(fmt.Errorf("the next lease begins in %v; this machine's clock is behind the provider's", early), cause)
	}
	return &LeaseAcquisitionError{Cause: cause}
}

// leasedEra returns the era of a plan.
func (c *Client) leasedEra(p plan) *era {
	e := c.newEra(p.mode, p.from, p.until)
	flag := uint64(0)
	if p.mode == continued {
		flag = c.layout.fallbackBit()
	}
	e.leases = p.leases
	spans := make([]span, len(p.leases))
	for i, l := range p.leases {
		spans[i] = l.span()
		spans[i].base += flag
	}
	e.span = min(e.place(spans), uint64(c.opts.MaxThroughputPerMs))
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
	e.span = e.place([]span{{half + reserved, size}})
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
	return &era{mode: m, layout: l, epoch: l.CustomEpochMs, low: uint(l.lowBits()), from: from, until: until}
}

// change ends the era in force and begins next. The caller holds mu.
func (c *Client) change(next *era) {
	old := c.era.Load()
	last := old.close()
	if last != old.first {
		for _, l := range old.leases {
			l.last = max(l.last, old.lastMs(last))
		}
	}
	c.begin(next, next.after(old, last))
	c.noteMode(next.mode)
	if next.mode == leased {
		c.giveBack(next)
	}
}

// begin makes e the era in force. Its first timestamp is after last.
func (c *Client) begin(e *era, last uint64) {
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
		c.note(slog.LevelWarn, "idgen: no valid lease, making fallback IDs", "mode", m.String(), "cause", c.keeper.lastErr)
	case m == leased && c.logged != leased && c.logged != waiting:
		c.note(slog.LevelInfo, "idgen: fallback ended, IDs are leased again")
	case m == waiting || m == closed:
		return
	}
	c.logged = m
}

// giveBack queues the leases that e was made to replace, for release.
func (c *Client) giveBack(e *era) {
	for _, l := range e.leases {
		if l.replaced {
			return // its successor is not valid yet
		}
	}
	if spare := c.holdings.spare(e.leases); len(spare) > 0 {
		c.keeper.spare = append(c.keeper.spare, spare...)
		c.keeper.rouse()
	}
}
