// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"math"
	"time"
)

// maxSplitVoteOdds is the probability of a split vote from which on
// [Config.Warnings] names it. At 1 in 5, three elections in a row fail in
// less than one case of a hundred.
const maxSplitVoteOdds = 0.2

// minPrecise is the shortest interval that timers of common systems keep.
const minPrecise = time.Millisecond

// Warning is a weakness of a [Config] that is not a fault.
type Warning struct {
	Field  string
	Reason string
}

// String returns field and reason in one line.
func (w Warning) String() string { return w.Field + ": " + w.Reason }

// windowFor returns the window, rounded up to a millisecond, for which the odds
// of a split vote are maxSplitVoteOdds.
func windowFor(delay time.Duration, nodes int) time.Duration {
	part := 1 - math.Pow(1-maxSplitVoteOdds, 1/float64(nodes)) // delay / window
	return multiply(delay, 1/part).Truncate(time.Millisecond) + time.Millisecond
}
