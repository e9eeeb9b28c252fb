// SPDX-License-Identifier: Apache-2.0

package uptime

import "time"

// Clock measures the time since it was made. It is safe for concurrent use.
type Clock struct {
	base  time.Time
	awake time.Duration // what counting told at base
}

// New returns a clock that begins now.
func New() Clock { return Clock{base: time.Now(), awake: counting()} }

// Elapsed returns the time from the making of the clock until now, which is what
// [time.Now] returned a moment ago. Setting the wall clock does not change it. It
// counts the time during which the machine slept, where the system tells that
// (Linux, macOS); it does not count the time during which a virtual machine was
// paused by its host.
func (c Clock) Elapsed(now time.Time) time.Duration {
	return max(now.Sub(c.base), counting()-c.awake)
}
