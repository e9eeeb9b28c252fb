// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// builders are builders without a batch. A builder goes to a view, through an interface:
// without the pool each batch would cost one.
var builders = sync.Pool{New: func() any { return new(rangeread.Builder) }}

// startBatch begins to collect a batch behind the pairs of front; finishBatch must follow.
func (s *overlay) startBatch(l rangeread.Limits, front []kv.KeyValue) *rangeread.Builder {
	s.builder = builders.Get().(*rangeread.Builder)
	s.builder.Start(l, s.lastSize, front)
	return s.builder
}

// finishBatch returns the pairs that were collected.
func (s *overlay) finishBatch() []kv.KeyValue {
	pairs := s.builder.Finish(s.lastSize)
	builders.Put(s.builder)
	s.builder = nil
	return pairs
}

// collectStored gives the stored pairs of [begin, end) to the builder, and reports
// whether it became full.
func (s *overlay) collectStored(begin, end []byte, back bool) (full bool) {
	if s.fixView(); s.err != nil {
		return false
	}
	full, s.err = s.view.Collect(begin, end, back, s.builder, &s.budget)
	return full
}
