// SPDX-License-Identifier: Apache-2.0

// Package diff compares two texts line by line and prints the difference in the
// unified format. The algorithm is that of Myers, "An O(ND) Difference Algorithm
// and Its Variations" (1986), greedy.
package diff
