// SPDX-License-Identifier: Apache-2.0

// Package budgets has the contests that set the required speed of the embedded
// engine: compared with raw Pebble, with other persistence libraries, and with
// itself in cases that could be slow because of its storage.
//
// Every commit of every entrant is synced to the disk before it is acknowledged,
// and every operation checks its result.
package budgets

import "github.com/kazahana-db/kazahana/bench/measure"

// Stages are all of them, in the order of the report.
func Stages() []measure.Stage {
	return []measure.Stage{commits, counters, firstReads, settledReads, recentReads, recordStores, traps}
}
