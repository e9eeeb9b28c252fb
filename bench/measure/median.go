// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"slices"
)

// Median returns the middle of the values; of an even number, the upper one of
// the two.
func Median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// Ratio returns how many times the rate of entrant i the first entrant made, by
// their medians, and the lowest and highest ratio of any one round.
func (r *Result) Ratio(i int) (ratio, low, high float64) {
	ours, theirs := r.Rates[0], r.Rates[i]
	for n := range ours {
		one := ours[n] / theirs[n]
		if n == 0 {
			low, high = one, one
		}
		low, high = min(low, one), max(high, one)
	}
	return Median(ours) / Median(theirs), low, high
}
