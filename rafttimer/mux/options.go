// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// Bounds of [Options].
const (
	MaxShards     = 1024
	MaxResolution = time.Second

	maxDefaultShards     = 4
	maxDefaultResolution = 10 * time.Millisecond
)

// Options configure a [Mux]. The zero value is ready to use.
type Options struct {
	// Config says how long the timers of all groups run.
	Config rafttimer.Config

	// Shards is the number of goroutines, each with a timer and a lock of its own, at most MaxShards.
	// Each calls the handler for its groups. The default value is the number of processors that Go
	// uses, but not more than 4.
	Shards int

	// Resolution is the time between two looks at what is due: an event comes up to this much after its deadline,
	// and never before. A longer one costs less, as each look has its price. It is at most HeartbeatInterval,
	// and at most MaxResolution. The default value is a fifth of HeartbeatInterval, but not more than 10 ms.
	Resolution time.Duration

	// Source is what the seeds of the election timeouts are drawn from, by New. The default value is
	// seeded at random.
	Source rand.Source

	// OnPanic is called if the handler panics; the timers go on. The default value prints value and
	// stack with package log. A panic of OnPanic itself is not recovered.
	OnPanic func(*PanicError)
}

// Validate reports all faults of the options, each a [*rafttimer.ConfigError], joined.
func (o Options) Validate() error {
	faults := []error{o.Config.Validate()}
	add := func(when bool, field string, value any, reason string) {
		if when {
			faults = append(faults, &rafttimer.ConfigError{Field: field, Value: value, Reason: reason})
		}
	}
	add(o.Shards < 0, "Shards", o.Shards, "must not be negative")
	add(o.Shards > MaxShards, "Shards", o.Shards, "must be at most 1024: a shard is a goroutine for many groups")
	add(o.Resolution < 0, "Resolution", o.Resolution, "must not be negative")
	add(o.Resolution > MaxResolution, "Resolution", o.Resolution, "must be at most a second")
	if interval := heartbeatInterval(o.Config); interval > 0 {
		add(o.Resolution > interval, "Resolution", o.Resolution, "must be at most HeartbeatInterval, "+interval.String())
	}
	return errors.Join(faults...)
}

// heartbeatInterval returns that of a Config with its defaults; 0 if it has faults.
func heartbeatInterval(c rafttimer.Config) time.Duration {
	timing, err := c.Timing()
	if err != nil {
		return 0
	}
	return timing.Config().HeartbeatInterval
}

// withDefaults returns valid options with a value in every field but OnPanic.
func (o Options) withDefaults() Options {
	if o.Shards == 0 {
		o.Shards = min(runtime.GOMAXPROCS(0), maxDefaultShards)
	}
	if o.Resolution == 0 {
		o.Resolution = max(1, min(heartbeatInterval(o.Config)/5, maxDefaultResolution))
	}
	if o.Source == nil {
		o.Source = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	return o
}
