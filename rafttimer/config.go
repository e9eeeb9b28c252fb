// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"math"
	"time"
)

// Defaults of [Config]: those of section 9.3 of the Raft paper.
const (
	DefaultElectionTimeoutMin = 150 * time.Millisecond
	DefaultElectionTimeoutMax = 300 * time.Millisecond
	DefaultHeartbeatInterval  = 50 * time.Millisecond
	DefaultBackoffLimit       = 8.0
)

// maxTimeout bounds every timeout, back-off and adaptation included, so that a
// deadline never overflows: 73 years.
const maxTimeout = time.Duration(math.MaxInt64 / 4)

// Config says how long the timers run. The zero value is ready to use: it has
// the defaults of every field.
//
// Raft needs broadcast time ≪ election timeout ≪ mean time between failures.
// [Config.Warnings] tells how well a Config fits a network.
type Config struct {
	// ElectionTimeoutMin and ElectionTimeoutMax bound the election timeout, both
	// inclusive. Each arming draws a new one, uniformly. The default values are
	// 150 ms, and twice ElectionTimeoutMin.
	ElectionTimeoutMin time.Duration
	ElectionTimeoutMax time.Duration

	// HeartbeatInterval is the time between two heartbeats of a leader, at most
	// half of ElectionTimeoutMin. The default value is a third of
	// ElectionTimeoutMin.
	HeartbeatInterval time.Duration

	// StallThreshold is the lateness from which on a deadline tells of a stall: the
	// process was suspended or blocked. It should be greater than the precision of
	// the system's timers; but the higher it is, the more needless elections
	// begin where processes stand still. The default value is HeartbeatInterval.
	StallThreshold time.Duration

	// BackoffFactor multiplies the election timeout once more for each election
	// that failed since the last contact: an election timeout that fired while
	// its node was a candidate. It is at least 1. The default value is 1: no
	// back-off.
	BackoffFactor float64

	// BackoffLimit is the largest product of back-off factors, at least 1. The
	// default value is 8.
	BackoffLimit float64

	// BroadcastFactor makes election timeouts adapt to the network: both bounds
	// are stretched so that the lower one is at least this multiple of the
	// broadcast time that [Machine.BroadcastTime] estimates. It is at
	// least 1; 10 is an order of magnitude, as the paper asks. The default
	// value is 0: timeouts do not adapt.
	BroadcastFactor float64

	// BroadcastLimit is the largest lower bound that adaptation arrives at. The
	// default value is ten times ElectionTimeoutMin.
	BroadcastLimit time.Duration
}

// withDefaults returns c with a value in every field.
func (c Config) withDefaults() Config {
	setDefault(&c.ElectionTimeoutMin, DefaultElectionTimeoutMin)
	setDefault(&c.ElectionTimeoutMax, multiply(c.ElectionTimeoutMin, 2))
	setDefault(&c.HeartbeatInterval, c.ElectionTimeoutMin/3)
	setDefault(&c.StallThreshold, max(c.HeartbeatInterval, 1))
	setDefault(&c.BackoffFactor, 1)
	setDefault(&c.BackoffLimit, DefaultBackoffLimit)
	setDefault(&c.BroadcastLimit, multiply(c.ElectionTimeoutMin, 10))
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// multiply returns d times factor, or the longest Duration if that is longer.
func multiply(d time.Duration, factor float64) time.Duration {
	product := float64(d) * factor
	if product >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(product)
}

// ConfigFromMillis returns the Config that has three times in milliseconds, as
// configuration files and other languages write them. Zero is not a default
// here. If a number is not positive, not finite or too large, or if the three do
// not fit together, the error joins a [*ConfigError] for each fault.
func ConfigFromMillis(electionTimeoutMin, electionTimeoutMax, heartbeatInterval float64) (Config, error) {
	var faults faults
	c := Config{
		ElectionTimeoutMin: faults.millis("ElectionTimeoutMin", electionTimeoutMin),
		ElectionTimeoutMax: faults.millis("ElectionTimeoutMax", electionTimeoutMax),
		HeartbeatInterval:  faults.millis("HeartbeatInterval", heartbeatInterval),
	}
	if len(faults) > 0 {
		return Config{}, faults.join()
	}
	return c, c.Validate()
}

// Timing returns the complete Config, or the error of [Config.Validate].
func (c Config) Timing() (*Timing, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Timing{c.withDefaults()}, nil
}
