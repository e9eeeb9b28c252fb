// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
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

// State returns the state of the sequence.
func (s *Sequence) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := State{Reserved: s.reserved, Version: s.version, Exhausted: s.exhausted}
	st.Last, st.Given = s.last, s.given
	st.Remaining = s.totalSteps() / size(s.spec.Step)
	if g := s.seg.Load(); g.stepsLeft() < g.size {
		st.Last, st.Given = g.lastTaken(), true
	}
	return st
}

// State is the state of a [Sequence] in memory.
type State struct {
	// Last is the number that was given last, if Given is set: this pool has given
	// one since the sequence came into memory.
	Last  int64
	Given bool
	// Reserved is the last number that this pool has reserved; valid if Version is
	// not 0.
	Reserved int64
	// Version is the version of the sequence in the store after that reservation.
	// As long as the store has the same version, no other pool has reserved since.
	Version int64
	// Remaining is how many steps of the sequence are in memory.
	Remaining uint64
	// Exhausted says that the store has no further numbers.
	Exhausted bool
}

// hasSpec reports whether a sequence is live and has the specification.
func (s *Sequence) hasSpec(spec Spec) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spec == spec && !s.evicted && !s.closed
}

// changeSpec changes the specification. It returns false if another Sequence is needed, since
// the direction of one cannot change. The caller holds Pool.mu.
func (s *Sequence) changeSpec(spec Spec) (ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.spec == spec:
	case (spec.Step < 0) == (s.spec.Step < 0):
		s.applySpec(spec)
	case s.known || s.phase != idle:
		return false, fmt.Errorf("%w: the step of %q was %d, and is now %d", ErrDirection, s.name, s.spec.Step, spec.Step)
	default:
		s.evicted = true
		return false, nil
	}
	return true, nil
}

func (s *Sequence) applySpec(spec Spec) {
	moved := spec.Start != s.spec.Start || spec.Epoch != s.spec.Epoch
	s.spec = spec
	s.exhausted, s.tail = false, false
	s.clipToBound()
	if moved {
		s.forgetState()
	}
}

// forgetState resets a sequence to the state of a new one.
func (s *Sequence) forgetState() {
	s.countDropped(s.totalSteps())
	s.sealSegment()
	s.ahead, s.stock = nil, 0
	s.gen++ // a range that is under way is lost
	s.known, s.given, s.exhausted, s.tail = false, false, false, false
	s.version, s.low = 0, 0
	s.pace = pace{latency: s.latency}
	s.publishSegment(span{from: s.spec.Start})
}

// refuseCalls makes all calls of Take return ErrClosed.
func (s *Sequence) refuseCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stopTimer()
	s.endWaiters(ErrClosed)
	s.sealSegment()
}

// isUnused reports whether nothing was taken for Options.Idle. Take does not record the time,
// which would cost more than taking a number.
func (s *Sequence) isUnused(now time.Duration) bool {
	if next := s.seg.Load().lastTaken(); next != s.seen || !s.checked {
		s.seen, s.seenAt, s.checked = next, now, true
		return false
	}
	return now-s.seenAt >= s.pool.o.Idle
}

func (s *Sequence) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.phase == backoff {
		s.setPhase(idle)
	}
}

// takeRevived takes from an evicted sequence that is used again.
func (s *Sequence) takeRevived(ctx context.Context, need uint64) (int64, error) {
	live, err := s.pool.findRevived(s)
	if err != nil {
		return 0, err
	}
	return live.takeFrom(ctx, live.seg.Load(), need)
}

// generators has ChaCha8 generators with seeds of the operating system, so that the next
// numbers cannot be predicted from those that were seen.
var generators = sync.Pool{New: func() any {
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	return rand.New(rand.NewChaCha8(seed))
}}

// takeRandom appends numbers at random distances of 1 to delta. If they do not fit, it draws
// shorter distances, as long as single steps fit.
func (s *Sequence) takeRandom(ctx context.Context, dst []int64, count int, delta uint64) ([]int64, error) {
	n := len(dst)
	dst = slices.Grow(dst, count)[:n+count]
	delta = min(delta, math.MaxUint64/uint64(count)) // their sum does not overflow
	for {
		last, err := s.takeFrom(ctx, s.seg.Load(), draw(dst[n:], delta))
		if err == nil {
			accumulate(dst[n:], last, s.seg.Load().step)
			return dst, nil
		}
		full, ok := errors.AsType[*ExhaustedError](err)
		if !ok || full.Room < uint64(count) {
			return dst[:n], err
		}
		delta = full.Room / uint64(count) // less than before
	}
}

// draw fills a slice with distances and returns their sum.
func draw(distances []int64, limit uint64) (sum uint64) {
	g := generators.Get().(*rand.Rand)
	defer generators.Put(g)
	for i := range distances {
		d := 1 + g.Uint64N(limit)
		distances[i] = int64(d)
		sum += d
	}
	return sum
}

// accumulate turns distances into numbers.
func accumulate(distances []int64, last, step int64) {
	for i, d := range distances {
		last = move(last, uint64(d), step)
		distances[i] = last
	}
}
