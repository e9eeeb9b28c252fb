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
	// Each request that was answered is counted in one of these.
	Commits, Conflicts, TooOld, Refused, Failed atomic.Int64
	BatchSize                                   histogram.Counter
	AbsorbedWrites                              atomic.Int64
	AbsorbTime                                  atomic.Int64 // nanoseconds
}

// countBatch counts the requests of a batch.
func (s *Stats) countBatch(b *batch) {
	commits := int64(0)
	for _, r := range b.requests {
		if r.err == nil {
			commits++
			continue
		}
		s.countFailure(r.err)
	}
	if commits > 0 {
		s.Commits.Add(commits)
		s.BatchSize.Add(commits)
	}
}

// countFailure counts a request that was not committed.
func (s *Stats) countFailure(err error) {
	switch kv.CodeOf(err) {
	case kv.CodeNotCommitted:
		s.Conflicts.Add(1)
	case kv.CodeTransactionTooOld:
		s.TooOld.Add(1)
	case kv.CodeCommitProxyMemoryLimitExceeded:
		s.Refused.Add(1)
	default:
		s.Failed.Add(1)
	}
}
