// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"fmt"
	"math"
	"math/bits"
)

// MaxCount is how many numbers a request can have.
const MaxCount = 1 << 20

// Spec specifies the numbers of a sequence.
type Spec struct {
	// Start is the value of a sequence that the store does not have yet. The first
	// number is Start + Step.
	Start int64
	// Step is the distance of two numbers in requests that name none, and the unit
	// of reservations. It is not 0, and negative for a sequence that descends.
	Step int64
	// Bound is the last number that may be given: a maximum, or, where Step is
	// negative, a minimum. It has no default: [math.MaxInt64] is none.
	Bound int64
	// Epoch changes when the sequence may have been set back in the store: the pool then drops
	// the numbers in memory, see [Pool.Drop].
	Epoch int64
}

// Validate reports what is wrong with a specification.
func (s Spec) Validate() error {
	if s.Step == 0 {
		return fmt.Errorf("sequence: the step is 0, allowed is any other number")
	}
	return nil
}

// roomAfter returns the distance from a value to the bound: 0 if the bound is passed.
func (s Spec) roomAfter(from int64) uint64 {
	if (s.Step > 0) != (from < s.Bound) || from == s.Bound {
		return 0
	}
	return distance(from, s.Bound)
}

// Request specifies the numbers that [Sequence.Take] takes.
type Request struct {
	// Count is the number of numbers: 1 to [MaxCount].
	Count int
	// Delta is the distance of two numbers. It has the sign of the sequence's step;
	// 0 stands for the step.
	Delta int64
	// Random makes each distance random instead: from 1 to the size of Delta, all
	// equally likely. Close to the bound they are shorter, so that
	// Count numbers fit as long as there are so many.
	Random bool
}

// deltaSize returns the size of the distance of two numbers.
func (r Request) deltaSize(step int64) (uint64, error) {
	switch {
	case r.Count < 1 || r.Count > MaxCount:
		return 0, fmt.Errorf("sequence: a request of %d numbers, allowed are 1 to %d", r.Count, MaxCount)
	case r.Delta == 0:
		return size(step), nil
	case (r.Delta < 0) != (step < 0):
		return 0, fmt.Errorf("sequence: the delta %d of a request has another sign than the step %d of the sequence", r.Delta, step)
	}
	return size(r.Delta), nil
}

// mulSat returns a·b, or the greatest number.
func mulSat(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// addSat returns a+b, or the greatest number.
func addSat(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return math.MaxUint64
	}
	return sum
}

// size returns |n|.
func size(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// distance returns |a-b|.
func distance(a, b int64) uint64 {
	if a > b {
		a, b = b, a
	}
	return uint64(b) - uint64(a)
}

// move returns the value that lies a distance ahead of another, in the direction
// of step.
func move(from int64, by uint64, step int64) int64 {
	if step < 0 {
		by = -by
	}
	return int64(uint64(from) + by)
}
