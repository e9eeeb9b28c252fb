// SPDX-License-Identifier: Apache-2.0

// Package placement holds the contests of placement: what it costs to find out where
// an identity is active, beside protoactor-go's own lookup by hashing; what it costs to
// choose a member, and how evenly they are chosen, beside its rendezvous hashing.
//
// All members are actor systems of this process, on loopback. Here claims are rows
// of the embedded engine; protoactor-go's lookup keeps none.
package placement

import "github.com/kazahana-db/kazahana/bench/measure"

// Stages are all of them, in the order of the report.
func Stages() []measure.Stage {
	return []measure.Stage{choosing, lookups}
}
