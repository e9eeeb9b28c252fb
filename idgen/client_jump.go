// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"log/slog"
	"time"
)

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
