// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "time"

// heartbeat is the timer of a leader's heartbeats. They keep a grid: the k-th is
// due k intervals after the start, however late the earlier ones were.
type heartbeat struct {
	generation uint64        // of starts, stops and contacts of both timers, at the latest of this one
	next       time.Duration // deadline
}
