// SPDX-License-Identifier: Apache-2.0

// Package ids holds the contests of the generators: how long an ID takes, from
// one thread and from four, beside the clock that every one of them reads and
// beside the libraries that a program would use otherwise; and what external
// IDs and leases cost.
//
// An operation makes a batch of IDs and checks that each differs from the one
// before. Figures are for one ID.
package ids

import "github.com/kazahana-db/kazahana/bench/measure"

// Stages are all of them, in the order of the report.
func Stages() []measure.Stage {
	return []measure.Stage{generators, external64, leasing}
}
