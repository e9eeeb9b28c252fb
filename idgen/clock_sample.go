// SPDX-License-Identifier: Apache-2.0

package idgen

// clockSample is one reading of the clock.
type clockSample struct {
	ms     int64 // the time to use, Unix milliseconds
	wall   int64 // the wall clock
	mono   int64
	judge  int64 // the anchor that it was compared with
	anchor int64 // its own; see clock
}

// isAhead reports whether the wall clock is too far ahead to be believed.
func (r clockSample) isAhead() bool { return r.ms != r.wall }
