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
