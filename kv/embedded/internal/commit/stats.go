// SPDX-License-Identifier: Apache-2.0

package commit

import (
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/histogram"
)

// Stats counts what became of requests, and what was absorbed. None is on the path
// of a read.
type Stats struct {
	Commits, Conflicts, TooOld, Failed atomic.Int64 // requests that were decided
	Refused                            atomic.Int64 // because too many waited
	BatchSize                          histogram.Counter
	AbsorbedWrites                     atomic.Int64
	AbsorbTime                         atomic.Int64 // nanoseconds
}

// countBatch counts a batch.
func (s *Stats) countBatch(b *batch) {
	var commits, conflicts, tooOld, failed int64
	for _, r := range b.requests {
		switch {
		case r.err == nil:
			commits++
		case r.err == error(errConflict):
			conflicts++
		case kv.CodeOf(r.err) == kv.CodeTransactionTooOld:
			tooOld++
		default:
			failed++
		}
	}
	if commits > 0 {
		s.Commits.Add(commits)
		s.BatchSize.Add(commits)
	}
	if commits < int64(len(b.requests)) {
		s.Conflicts.Add(conflicts)
		s.TooOld.Add(tooOld)
		s.Failed.Add(failed)
	}
}
