// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math"
	"time"

	"github.com/kazahana-db/kazahana/internal/schedule"
)

// clock is the clock of a node. It has a rate of its own, can jump, and stands still while its
// machine is suspended.
type clock struct {
	world   *schedule.Schedule
	rate    float64
	since   time.Duration // true time of the latest change
	reading time.Duration // then
	stopped bool
}

func (c *clock) now() time.Duration {
	if c.stopped {
		return c.reading
	}
	return c.reading + time.Duration(float64(c.world.Now()-c.since)*c.rate)
}

// rebase makes the present reading the clock's new origin.
func (c *clock) rebase() { c.reading, c.since = c.now(), c.world.Now() }

func (c *clock) jump(by time.Duration) {
	c.rebase()
	c.reading += by
}

func (c *clock) stop() {
	c.rebase()
	c.stopped = true
}

func (c *clock) start() {
	c.rebase()
	c.stopped = false
}

// lasts returns the true time in which the clock counts d.
func (c *clock) lasts(d time.Duration) time.Duration {
	return time.Duration(math.Ceil(float64(d) / c.rate))
}
