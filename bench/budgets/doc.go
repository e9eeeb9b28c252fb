// SPDX-License-Identifier: Apache-2.0

// Package budgets holds the contests that say how fast the embedded engine has
// to be: beside raw Pebble, beside the persistence libraries that a program
// would use otherwise, and beside itself where a trap of its storage could lie.
//
// Every commit of every entrant is synced to the disk before it is
// acknowledged, and every operation checks what it got.
package budgets

import "github.com/kazahana-db/kazahana/bench/measure"

// Stages are all of them, in the order of the report.
func Stages() []measure.Stage {
	return []measure.Stage{commits, settledReads, recentReads, counters, recordStores, traps}
}
