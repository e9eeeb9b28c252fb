// SPDX-License-Identifier: Apache-2.0

package sequence

import "sync/atomic"

// segment is a range of numbers in memory. Taking from it needs no lock. Only used changes;
// any other change makes a new segment, after [segment.close] has taken all numbers out of
// the old one.
type segment struct {
	from int64  // the value before the first number
	size uint64 // the distance from there to the last number
	low  uint64 // the next range is reserved when less than this is left
	step int64  // Spec.Step
	unit uint64 // |step|
	used atomic.Uint64
}

// take takes the numbers up to a distance from the last taken one. It returns that number,
// and how much is left. It takes nothing if the numbers do not fit.
func (g *segment) take(need uint64) (last int64, left uint64, ok bool) {
	for {
		used := g.used.Load()
		if g.size-used < need {
			return 0, 0, false
		}
		if g.used.CompareAndSwap(used, used+need) {
			return move(g.from, used, g.step), g.size - used - need, true
		}
	}
}

// close takes all remaining numbers.
func (g *segment) close() span {
	used := g.used.Swap(g.size)
	return span{from: move(g.from, used, g.step), size: g.size - used}
}

// stepsLeft returns how much is left.
func (g *segment) stepsLeft() uint64 { return g.size - g.used.Load() }

// lastTaken returns the last number that was taken, or the value before the first.
func (g *segment) lastTaken() int64 { return move(g.from, g.used.Load(), g.step) }

// span is a range of numbers: those after from, up to a distance of size.
type span struct {
	from int64
	size uint64
}

// isFollowedBy reports whether a range begins where this one ends.
func (r span) isFollowedBy(next span, step int64) bool {
	return move(r.from, r.size, step) == next.from
}
