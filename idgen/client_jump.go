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
	confirmed := c.leases.choose(r.wall, c.layout).mode == leased
	steady := c.leases.choose(r.ms, c.layout)
	denied := steady.mode != waiting || steady.next != forever // a lease of a time close to r.ms
	early := r.ms < c.layout.First().UnixMilli()               // no ID can be made by that time
	if confirmed || early || !denied && c.clock.hasLasted(r) && c.keeper.hasTried() {
		c.clock.believeJump(r)
		c.logLater(slog.LevelInfo, "idgen: the clock is believed after its jump", "ms", r.wall-r.ms)
		r.ms = r.wall
	}
	return r
}
