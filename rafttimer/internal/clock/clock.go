// SPDX-License-Identifier: Apache-2.0

// Package clock is a monotonic clock that reports how long it has stood still.
package clock

import "time"

// Clock counts the time since it was made. Now is safe for concurrent use. Tests change Ahead.
type Clock struct {
	origin time.Time
	Ahead  time.Duration // of the wall clock, since origin, at the last call of Slept
}

// New returns a clock that begins at 0.
func New() Clock { return Clock{origin: time.Now()} }

// Now returns the time since New. It does not read the wall clock, so that it costs less than time.Now.
func (c *Clock) Now() time.Duration { return time.Since(c.origin) }

// Slept returns how long the clock has stood still since the last call. It compares the
// wall clock with the monotonic one, which stands still during suspend on Linux and macOS. A wall
// clock that is set ahead looks the same.
func (c *Clock) Slept() time.Duration {
	now := time.Now()
	ahead := now.Round(0).Sub(c.origin.Round(0)) - now.Sub(c.origin)
	slept := ahead - c.Ahead
	c.Ahead = ahead
	return slept
}
