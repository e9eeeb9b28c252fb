// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"errors"
	"fmt"
	"math"
	"time"
)

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
		c.compare(&faults)
	}
	c.checkOverflow(&faults)
	return faults.join()
}

// compare looks for faults between fields.
func (c Config) compare(faults *faults) {
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
	if longest := c.longest(); longest > maxTimeout {
		faults.add("ElectionTimeoutMax", c.ElectionTimeoutMax, "overflows: with back-off and adaptation a timeout could exceed %v", maxTimeout)
	}
	if c.StallThreshold > maxTimeout {
		faults.add("StallThreshold", c.StallThreshold, "overflows: it must be at most %v", maxTimeout)
	}
}

// longest returns the longest election timeout that can be drawn.
func (c Config) longest() time.Duration {
	longest := c.ElectionTimeoutMax
	if c.BroadcastFactor > 0 && c.ElectionTimeoutMin > 0 {
		longest = multiply(longest, float64(c.BroadcastLimit)/float64(c.ElectionTimeoutMin))
	}
	if c.BackoffFactor > 1 {
		longest = multiply(longest, c.BackoffLimit)
	}
	return longest
}

// faults gathers what is wrong with a Config.
type faults []error

func (f *faults) add(field string, value any, format string, args ...any) {
	*f = append(*f, &ConfigError{Field: field, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// minimum checks ElectionTimeoutMin, where zero stands for the default.
func (f *faults) minimum(d time.Duration) {
	switch {
	case d < 0:
		f.positive("ElectionTimeoutMin", d)
	case d > maxTimeout:
		f.add("ElectionTimeoutMin", d, "overflows: it must be at most %v", maxTimeout)
	}
}

func (f *faults) positive(field string, d time.Duration) {
	if d <= 0 {
		f.add(field, d, "must be positive")
	}
}

func (f *faults) atLeastOne(field string, x float64) {
	if !(x >= 1) || math.IsInf(x, 1) { // NaN compares false
		f.add(field, x, "must be a finite number of at least 1")
	}
}

// millis converts a time in milliseconds; 0 if it has a fault.
func (f *faults) millis(field string, ms float64) time.Duration {
	switch ns := ms * float64(time.Millisecond); {
	case math.IsNaN(ms) || math.IsInf(ms, 0):
		f.add(field, ms, "must be a finite number of milliseconds")
	case ns < 1:
		f.add(field, ms, "must be positive: at least a nanosecond, in milliseconds")
	case ns > float64(maxTimeout):
		f.add(field, ms, "overflows: it must be at most %d milliseconds", maxTimeout.Milliseconds())
	default:
		return time.Duration(ns)
	}
	return 0
}

func (f *faults) join() error { return errors.Join(*f...) }
