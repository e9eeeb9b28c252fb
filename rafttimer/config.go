// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"errors"
	"fmt"
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

	// StallThreshold is the least lateness of a deadline that tells of a stall: the
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
// not fit together, the error joins one for each fault, which names the field.
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

// WithDefaults returns the Config with a value in every field, or the error of [Config.Validate].
func (c Config) WithDefaults() (Config, error) {
	if err := c.Validate(); err != nil {
		return Config{}, err
	}
	return c.withDefaults(), nil
}

// Validate reports all faults of the Config, joined, each with the name of its field; nil
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

// faults gathers what is wrong with a Config.
type faults []error

func (f *faults) add(field string, value any, format string, args ...any) {
	*f = append(*f, fmt.Errorf("rafttimer: %s is %v: it %s", field, value, fmt.Sprintf(format, args...)))
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

// SplitVoteOdds returns the probability that an election begins with a second
// candidate: that of n nodes that started their election timeouts together, the
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

// Warnings returns the weaknesses of a valid Config, which are not faults, for a number of
// nodes that hear of each other after delay, the time of one message; nil if there are none.
// Each begins with the name of the field to change.
func (c Config) Warnings(delay time.Duration, nodes int) []string {
	c = c.withDefaults()
	var found []string
	warn := func(when bool, field, format string, args ...any) {
		if when {
			found = append(found, field+": "+fmt.Sprintf(format, args...))
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

// maxSplitVoteOdds is the least probability of a split vote at which
// [Config.Warnings] names it. At 1 in 5, three elections in a row fail in
// less than one case of a hundred.
const maxSplitVoteOdds = 0.2

// minPrecise is the shortest interval that timers of common systems keep.
const minPrecise = time.Millisecond

// windowFor returns the window, rounded up to a millisecond, for which the odds
// of a split vote are maxSplitVoteOdds.
func windowFor(delay time.Duration, nodes int) time.Duration {
	part := 1 - math.Pow(1-maxSplitVoteOdds, 1/float64(nodes)) // delay / window
	return multiply(delay, 1/part).Truncate(time.Millisecond) + time.Millisecond
}
