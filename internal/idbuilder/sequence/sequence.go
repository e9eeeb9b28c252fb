// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// Sequence takes the numbers of one sequence. It is safe for concurrent use. It
// belongs to the [Pool] that returned it; [Pool.Sequence] returns the same one
// for the same name, until the sequence was idle for Options.Idle. A Sequence
// that is kept for longer goes on working.
type Sequence struct {
	pool *Pool
	name string
	seg  atomic.Pointer[segment] // never nil; replaced under mu
	busy atomic.Bool             // its phase is not idle

	mu      sync.Mutex
	spec    Spec
	ahead   []span    // ranges after the segment; each has a gap before it
	waiters []*waiter // in the order in which they came

	evicted, closed bool
	exhausted       bool // the store has no further numbers within the bound
	tail            bool // it has none in steps of spec.Step, but maybe single ones
	known           bool // reserved is known
	given           bool // last is known
	reserved        int64
	version         int64 // of the sequence in the store, after this pool's last reservation
	last            int64 // the last number that was given from earlier segments
	low             uint64

	fetch
	pace

	place   place // guarded by pool.queue.mu
	seen    int64 // the number before the next one; only the evictor uses it
	seenAt  time.Duration
	checked bool
}

// Take appends numbers to dst. They ascend, or descend if the sequence's step is
// negative, and lie r.Delta apart; they come after the numbers of every call
// that has returned before. No other Sequence over the same store ever gives one
// of them.
//
// Numbers in memory are given at once, even if ctx has ended or the store fails.
// Otherwise Take waits for the store, until ctx ends. It returns an
// [*ExhaustedError] if the numbers do not fit before the bound, [ErrClosed], or
// the error of the store or of ctx, wrapped. With an error it has taken nothing
// and returns dst as it was.
func (s *Sequence) Take(ctx context.Context, dst []int64, r Request) ([]int64, error) {
	g := s.seg.Load()
	if r.Count == 1 && !r.Random && (r.Delta == 0 || r.Delta == g.step) { // the usual request
		last, err := s.takeFrom(ctx, g, g.unit)
		if err != nil {
			return dst, err
		}
		return append(dst, last+g.step), nil
	}
	delta, err := r.deltaSize(g.step)
	switch {
	case err != nil:
		return dst, err
	case r.Random:
		return s.takeRandom(ctx, dst, r.Count, delta)
	}
	last, err := s.takeFrom(ctx, g, mulSat(delta, uint64(r.Count)))
	if err != nil {
		return dst, err
	}
	return appendSpaced(dst, last, r.Count, move(0, delta, g.step)), nil
}

func appendSpaced(dst []int64, last int64, count int, delta int64) []int64 {
	n := len(dst)
	dst = slices.Grow(dst, count)[:n+count]
	out := dst[n:]
	for i := range out {
		last += delta
		out[i] = last
	}
	return dst
}

// takeFrom takes the numbers up to a distance, from the segment if it has them, and
// returns the one before them.
func (s *Sequence) takeFrom(ctx context.Context, g *segment, need uint64) (int64, error) {
	last, left, ok := g.take(need)
	if !ok {
		return s.awaitNumbers(ctx, need)
	}
	if left < g.low && !s.busy.Load() {
		s.requestNext()
	}
	return last, nil
}

// requestNext requests the next range, unless it was requested already.
func (s *Sequence) requestNext() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wantsRange() {
		s.requestRange(false)
	}
}

// makeOffers returns the numbers of a sealed sequence that can be given back.
func (s *Sequence) makeOffers() []offer {
	n := len(s.ahead)
	if !s.known || n == 0 || move(s.ahead[n-1].from, s.ahead[n-1].size, s.spec.Step) != s.reserved {
		return nil
	}
	r := s.ahead[n-1]
	s.setAhead(s.ahead[:n-1])
	return []offer{{s.name, r.from, store.Sequence{Value: s.reserved, Version: s.version}, r.size / size(s.spec.Step)}}
}
