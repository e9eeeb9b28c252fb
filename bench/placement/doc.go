// SPDX-License-Identifier: Apache-2.0

// Package placement has the contests of placement: the lookup of an identity,
// compared with protoactor-go's own lookup by hashing, and the choice of a member,
// its time and evenness, compared with protoactor-go's rendezvous hashing.
//
// All members are actor systems of this process, on loopback. The claims of
// placement/protoactor are rows of the embedded engine; protoactor-go's lookup
// keeps none.
package placement

import "github.com/kazahana-db/kazahana/bench/measure"

// Stages are all of them, in the order of the report.
func Stages() []measure.Stage {
	return []measure.Stage{choosing, lookups}
}
