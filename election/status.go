// SPDX-License-Identifier: Apache-2.0

package election

// Status is the leader, as far as an observer knows.
type Status struct {
	Leader string // the owner that leads; empty if there is none
	Rank   int64  // of its term, or of the last one; 0 if there was none
}
