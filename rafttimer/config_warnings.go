// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"fmt"
	"math"
	"time"
)

// SplitVoteOdds returns the probability that an election begins with a second
// candidate: that of n nodes, all of whose election timeouts started together, the
// second times out within delay of the first, before the first one's request
// for votes reaches it. Timeouts are independent and uniform over a window W,
// so that it is 1 - (1 - delay/W)^n. It is 0 for fewer than two nodes.
func (c Config) SplitVoteOdds(delay time.Duration, nodes int) float64 {
	c = c.withDefaults()
	window := c.ElectionTimeoutMax - c.ElectionTimeoutMin
	switch {
	case nodes < 2 || delay <= 0:
		return 0
	case delay >= window:
		return 1
	}
	return 1 - math.Pow(1-float64(delay)/float64(window), float64(nodes))
}

// Warnings returns the weaknesses of a valid Config for a number of nodes that
// hear of each other after delay, the time of one message; nil if there are none.
func (c Config) Warnings(delay time.Duration, nodes int) []Warning {
	c = c.withDefaults()
	var found []Warning
	warn := func(when bool, field, format string, args ...any) {
		if when {
			found = append(found, Warning{Field: field, Reason: fmt.Sprintf(format, args...)})
		}
	}
	odds := c.SplitVoteOdds(delay, nodes)
	warn(odds > maxSplitVoteOdds, "ElectionTimeoutMax",
		"with %d nodes and a delay of %v, %.0f %% of elections begin with two candidates and may split the vote; a window of %v between minimum and maximum makes it %.0f %%",
		nodes, delay, 100*odds, windowFor(delay, nodes), 100*maxSplitVoteOdds)
	warn(delay > c.ElectionTimeoutMin/10, "ElectionTimeoutMin",
		"%v is less than ten times the delay of %v: late messages will start elections", c.ElectionTimeoutMin, delay)
	third := c.ElectionTimeoutMin / 3
	warn(c.HeartbeatInterval > third+third/4, "HeartbeatInterval",
		"%v is more than a third of ElectionTimeoutMin, %v: a single lost heartbeat may start an election", c.HeartbeatInterval, c.ElectionTimeoutMin)
	warn(c.HeartbeatInterval < third/4, "HeartbeatInterval",
		"%v is far below a third of ElectionTimeoutMin, %v: it costs messages and gains nothing", c.HeartbeatInterval, c.ElectionTimeoutMin)
	warn(c.HeartbeatInterval < minPrecise, "HeartbeatInterval",
		"%v is shorter than system timers are precise, %v or more", c.HeartbeatInterval, minPrecise)
	return found
}
