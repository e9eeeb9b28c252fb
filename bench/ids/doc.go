// SPDX-License-Identifier: Apache-2.0

// Package ids has the contests of the generators: the time of an ID, with one
// thread and with four, compared with the clock that all of them read and with
// other libraries; and the time of external IDs and leases.
//
// An operation makes a batch of IDs and checks that each differs from the one
// before. Figures are for one ID.
package ids

import "github.com/kazahana-db/kazahana/bench/measure"

// Stages are all of them, in the order of the report.
func Stages() []measure.Stage {
	return []measure.Stage{generators, external64, leasing}
}
