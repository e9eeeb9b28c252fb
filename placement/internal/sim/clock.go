// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kazahana-db/kazahana/internal/schedule"
)

// clock is a machine's own. It goes at a rate of its own and can be set.
type clock struct {
	world *schedule.Schedule
	rate  float64
	skew  time.Duration // of the wall clock, which an administrator sets
}

// monotonic returns what the machine has counted since its start.
func (c *clock) monotonic() time.Duration { return time.Duration(float64(c.world.Now()) * c.rate) }

// wall returns the time that the machine believes it is.
func (c *clock) wall() time.Time { return epoch.Add(c.monotonic() + c.skew) }

// trueDuration returns the true time in which the clock counts d.
func (c *clock) trueDuration(d time.Duration) time.Duration {
	return time.Duration(float64(d) / c.rate)
}

// epoch is the true time at which every run begins.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
