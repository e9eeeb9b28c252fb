// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The defaults of [Options].
const (
	DefaultDuration = 10 * time.Minute
	DefaultHold     = 24 * time.Hour
	DefaultSkew     = time.Minute
)

// Options configure a [Leaser]. All workers of a store use the same.
type Options struct {
	// Duration is the time within which a client asks again; after it, the client makes no IDs
	// unless its lease was renewed. From a second to 12 hours; 0 means 10 minutes.
	Duration time.Duration
	// Hold is how long a worker id is kept for a client that never asks again.
	// It is at least Duration and Skew together, at most 31 days; 0 means a day.
	Hold time.Duration
	// Skew is how long a worker id stays unused after a client's lease of it has
	// ended: for clients whose clock is behind. From 0 to an hour; 0 means a
	// minute, a negative value none.
	Skew time.Duration

	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Monotonic is the clock by which jumps of Now are noticed; nil means that of this
	// process. Set it if Now is set.
	Monotonic func() time.Duration
	// Logger gets warnings about clocks; nil means [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Duration == 0 {
		o.Duration = DefaultDuration
	}
	if o.Hold == 0 {
		o.Hold = DefaultHold
	}
	switch {
	case o.Skew == 0:
		o.Skew = DefaultSkew
	case o.Skew < 0:
		o.Skew = 0
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	o = o.withDefaults()
	var faults []error
	if o.Duration < time.Second || o.Duration > 12*time.Hour || o.Duration%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("snowflake: Duration is %v; it must be from 1s to 12h in whole milliseconds", o.Duration))
	}
	if o.Skew > time.Hour || o.Skew%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("snowflake: Skew is %v; it must be at most 1h in whole milliseconds", o.Skew))
	}
	if o.Hold < o.renewalTime() || o.Hold > 31*24*time.Hour || o.Hold%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("snowflake: Hold is %v; it must be from Duration and Skew together, %v, to 31 days in whole milliseconds", o.Hold, o.renewalTime()))
	}
	return errors.Join(faults...)
}

// renewalTime is how long a worker id is kept for a client that asks again.
func (o Options) renewalTime() time.Duration { return o.Duration + o.Skew }
