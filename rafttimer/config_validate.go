// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "time"

// Validate reports all faults of the Config, each a [*ConfigError], joined; nil
// if there is none. Fields that are zero have their defaults. If ElectionTimeoutMin has
// a fault, no field is compared with it, and none is blamed for a default that follows from it.
func (c Config) Validate() error {
	var faults faults
	faults.minimum(c.ElectionTimeoutMin)
	sound := len(faults) == 0
	if !sound {
		c.ElectionTimeoutMin = 0
	}
	c = c.withDefaults()
	faults.positive("ElectionTimeoutMax", c.ElectionTimeoutMax)
	faults.positive("HeartbeatInterval", c.HeartbeatInterval)
	faults.positive("StallThreshold", c.StallThreshold)
	faults.atLeastOne("BackoffFactor", c.BackoffFactor)
	faults.atLeastOne("BackoffLimit", c.BackoffLimit)
	if c.BroadcastFactor != 0 {
		faults.atLeastOne("BroadcastFactor", c.BroadcastFactor)
	}
	if sound {
		c.compareTimes(&faults)
	}
	c.checkOverflow(&faults)
	return faults.join()
}

// compareTimes looks for faults between fields.
func (c Config) compareTimes(faults *faults) {
	if c.ElectionTimeoutMax > 0 && c.ElectionTimeoutMin >= c.ElectionTimeoutMax {
		faults.add("ElectionTimeoutMax", c.ElectionTimeoutMax, "must be greater than ElectionTimeoutMin, %v", c.ElectionTimeoutMin)
	}
	if c.HeartbeatInterval > c.ElectionTimeoutMin/2 {
		faults.add("HeartbeatInterval", c.HeartbeatInterval, "must be at most half of ElectionTimeoutMin, %v", c.ElectionTimeoutMin)
	}
	if c.BroadcastLimit < c.ElectionTimeoutMin {
		faults.add("BroadcastLimit", c.BroadcastLimit, "must not be less than ElectionTimeoutMin, %v", c.ElectionTimeoutMin)
	}
}

// checkOverflow looks for times that are too long.
func (c Config) checkOverflow(faults *faults) {
	if longest := c.longestTimeout(); longest > maxTimeout {
		faults.add("ElectionTimeoutMax", c.ElectionTimeoutMax, "overflows: with back-off and adaptation a timeout could exceed %v", maxTimeout)
	}
	if c.StallThreshold > maxTimeout {
		faults.add("StallThreshold", c.StallThreshold, "overflows: it must be at most %v", maxTimeout)
	}
}

// longestTimeout returns the longest election timeout that can be drawn.
func (c Config) longestTimeout() time.Duration {
	longest := c.ElectionTimeoutMax
	if c.BroadcastFactor > 0 && c.ElectionTimeoutMin > 0 {
		longest = multiply(longest, float64(c.BroadcastLimit)/float64(c.ElectionTimeoutMin))
	}
	if c.BackoffFactor > 1 {
		longest = multiply(longest, c.BackoffLimit)
	}
	return longest
}
