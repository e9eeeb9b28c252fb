// SPDX-License-Identifier: Apache-2.0

package build

import (
	"time"

	"github.com/kazahana-db/kazahana/index"
)

// Options say how a build works. The caller has checked them and filled in all
// defaults.
type Options struct {
	Workers        int            // goroutines
	Share          float64        // of its time that each worker works, above 0 and up to 1
	BytesPerSecond int            // of all workers together; 0: no limit
	BatchRecords   int            // the most records in a batch
	RangeBytes     int            // the least size of a range
	Lease          time.Duration  // after which an unchanged claim is taken over
	Progress       func(Progress) // called after each batch, one call at a time; may be nil
	Now            func() time.Time

	// Begins says for which of the disabled indexes a build may begin; nil: for all. A
	// build that has begun is completed whatever it says.
	Begins func(*index.Definition) bool
}
