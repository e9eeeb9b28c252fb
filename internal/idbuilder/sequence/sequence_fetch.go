// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

func (s *Sequence) setPhase(p phase) {
	s.phase = p
	s.busy.Store(p != idle)
}

// wantsRange reports whether to reserve a range in the background.
func (s *Sequence) wantsRange() bool {
	return !s.exhausted && !s.closed && !s.evicted && s.totalSteps() < s.low
}

// requestRange queues the sequence for a reservation. After a failure it waits for the end of
// the back-off.
func (s *Sequence) requestRange(urgent bool) {
	switch {
	case s.phase == idle:
		s.setPhase(active)
		s.pool.enqueue(s, urgent)
	case s.phase == active && urgent:
		s.pool.moveAhead(s)
	}
}

// planReservation returns the next reservation, if one is needed.
func (s *Sequence) planReservation() (plan, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.evicted || len(s.waiters) == 0 && !s.wantsRange() {
		s.setPhase(idle)
		return plan{}, false
	}
	now := s.pool.now()
	p := plan{spec: s.spec, gen: s.gen, tail: s.tail, started: now}
	p.Reservation = store.Reservation{Start: s.spec.Start, Step: s.spec.Step, Bound: s.spec.Bound}
	p.Count = s.batchSize(now)
	if s.tail {
		p.Step, p.Count = move(0, 1, s.spec.Step), int64(size(s.spec.Step)-1)
	}
	return p, true
}

// acceptOutcome handles the outcome of a reservation, and reports whether another one is
// needed at once.
func (s *Sequence) acceptOutcome(p plan, r store.Range, err error) (again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.gen != s.gen {
		return true // the range is lost
	}
	if err == nil {
		err = s.acceptRange(p, r)
	}
	if s.closed {
		s.sealSegment()
		return true
	}
	switch {
	case errors.Is(err, store.ErrExhausted):
		s.noteExhausted(p)
	case err != nil:
		s.failWaiters(err)
		return false
	}
	s.resetFailures()
	s.serveWaiters()
	if len(s.waiters) > 0 || s.wantsRange() {
		return true
	}
	s.setPhase(idle)
	return false
}

// acceptRange checks a range and puts it into memory.
func (s *Sequence) acceptRange(p plan, r store.Range) error {
	got := span{from: r.From, size: distance(r.From, r.To)}
	want := mulSat(size(p.Step), uint64(p.Count))
	if (r.To > r.From) != (p.Step > 0) || got.size == 0 || got.size > want || got.size > p.spec.roomAfter(r.From) {
		return fmt.Errorf("the store gave the impossible range from %d to %d for %+v", r.From, r.To, p.Reservation)
	}
	if s.known && s.reserved != r.From && (s.reserved < r.From) != (p.Step > 0) {
		return fmt.Errorf("%w: they begin after %d, it was at %d before", ErrRewound, r.From, s.reserved)
	}
	s.known, s.reserved, s.version = true, r.To, r.Version
	s.measureLatency(s.pool.now() - p.started)
	if got.size = min(got.size, s.spec.roomAfter(r.From)); got.size > 0 {
		s.stock += got.size
		s.addRange(got)
	}
	return nil
}

// noteExhausted remembers that the store has no numbers left. If the step is not 1, single
// numbers may be left before the bound: the next reservation asks for those.
func (s *Sequence) noteExhausted(p plan) {
	if p.spec != s.spec {
		return // the bound has changed since
	}
	s.exhausted = p.tail || size(s.spec.Step) == 1
	s.tail = !s.exhausted
	s.publishSegment(s.retireSegment())
}

// failWaiters ends the waiters with the store's error, and begins the back-off.
func (s *Sequence) failWaiters(err error) {
	s.pool.counts.failures.Add(1)
	if s.err == nil {
		s.pool.o.Log.Warn("the store reserves no numbers", "sequence", s.name, "error", err)
	}
	s.err = err
	s.endWaiters(fmt.Errorf("sequence %q: reserve numbers: %w", s.name, err))
	s.setPhase(backoff)
	s.timer = time.AfterFunc(s.backoffDelay(), s.endBackoff)
	s.failures = min(s.failures+1, 62)
}

// backoffDelay returns how long the back-off lasts.
func (s *Sequence) backoffDelay() time.Duration {
	d := s.pool.o.MinBackoff << s.failures
	if d>>s.failures != s.pool.o.MinBackoff || d > s.pool.o.MaxBackoff {
		d = s.pool.o.MaxBackoff
	}
	return d - rand.N(d/2+1)
}

// endBackoff ends the back-off.
func (s *Sequence) endBackoff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != backoff {
		return
	}
	s.timer = nil
	s.setPhase(idle)
	if len(s.waiters) > 0 || s.wantsRange() {
		s.requestRange(len(s.waiters) > 0)
	}
}

// resetFailures notes that the store answers.
func (s *Sequence) resetFailures() {
	if s.err != nil {
		s.pool.o.Log.Info("the store reserves numbers again", "sequence", s.name)
	}
	s.err, s.failures = nil, 0
}

// fetch is the state of a sequence's reservations. At most one of them runs.
type fetch struct {
	phase    phase
	failures uint8
	gen      uint32 // grows when the ranges of running reservations are no longer wanted
	err      error  // of the last reservation; nil if it succeeded
	timer    *time.Timer
}

type phase uint8

const (
	idle    phase = iota
	active        // the sequence is queued, or a reservation is under way
	backoff       // the last reservation failed, timer will end the wait
)

// plan is a running reservation.
type plan struct {
	store.Reservation
	spec    Spec
	gen     uint32
	tail    bool
	started time.Duration
}

// batchSize returns how many steps to reserve, and sets the remainder below which to reserve
// the next range.
func (s *Sequence) batchSize(now time.Duration) int64 {
	s.measureRate(now)
	step := size(s.spec.Step)
	s.batch = s.targetSteps()
	reach := s.limitReach(mulSat(uint64(s.batch), step))
	s.setLow(reach)
	if s.known || !s.isTight() {
		reach = max(reach, s.waitersNeed())
	}
	steps := reach / step
	if reach%step > 0 {
		steps++
	}
	return int64(min(steps, math.MaxInt64))
}

// measureRate computes the rate of given and dropped numbers since the last plan.
func (s *Sequence) measureRate(now time.Duration) {
	total := s.totalSteps()
	consumed := float64(s.stock-min(s.stock, total)) / float64(size(s.spec.Step))
	elapsed := max(now-s.planned, shortest).Seconds()
	s.rate = consumed / elapsed
	s.stock, s.planned = total, now
}

// targetSteps returns the number of steps that lasts for Options.Target at the rate.
func (s *Sequence) targetSteps() int64 {
	o := &s.pool.o
	if s.batch == 0 {
		return o.BatchSize
	}
	want := min(s.rate*o.Target.Seconds(), float64(s.batch)*growth, float64(o.MaxBatch))
	return max(o.BatchSize, int64(want))
}

// limitReach bounds the reach of a reservation, so that a crash does not lose a large part
// of the numbers before the bound.
func (s *Sequence) limitReach(reach uint64) uint64 {
	least := mulSat(uint64(max(1, s.pool.o.BatchSize/smallest)), size(s.spec.Step))
	switch {
	case s.known:
		return min(reach, max(least, s.spec.roomAfter(s.reserved)/reserveShare))
	case s.isTight():
		return min(reach, least) // the position of the sequence is not known: reserve little to find out
	}
	return reach
}

// isTight reports whether a sequence has so few numbers that a batch could be a
// large part of them.
func (s *Sequence) isTight() bool {
	all := mulSat(mulSat(uint64(s.pool.o.BatchSize), roomy), size(s.spec.Step))
	return s.spec.roomAfter(s.spec.Start) < all
}

// setLow sets the remainder below which the next range is reserved: the share of the options,
// or twice the numbers that are used until the store answers.
func (s *Sequence) setLow(reach uint64) {
	untilAnswer := 2 * s.rate * s.latency.Seconds() * float64(size(s.spec.Step))
	low := max(float64(reach)*s.pool.o.PrefetchThreshold, untilAnswer, 1)
	s.low = min(reach, uint64(min(low, math.MaxInt64)))
}

// measureLatency keeps the latency of the slowest reservations, which decays slowly.
func (s *Sequence) measureLatency(latency time.Duration) {
	s.latency = max(latency, s.latency-s.latency/8)
}

const (
	// growth bounds a batch by a multiple of the one before: a short burst must not reserve, and
	// a crash then lose, many times the numbers that it used.
	growth = 2
	// reserveShare is the part of the numbers before the bound that one reservation takes:
	// 1/8.
	reserveShare = 8
	// smallest is the part of Options.BatchSize that a reservation close to the
	// bound takes nevertheless: 1/100.
	smallest = 100
	// roomy is how many batches of Options.BatchSize must fit between the start and the bound of
	// a sequence; then the share does not matter before the position is known.
	roomy = 1000
	// shortest is the shortest time over which a rate is measured: one request of
	// a thousand numbers does not make a rate of a billion a second.
	shortest = 10 * time.Millisecond
)

// pace adapts the size of a sequence's batches to its use. Leaf's segments
// (Meituan) do so by doubling and halving; here the size follows the rate.
type pace struct {
	batch   int64         // steps of the last reservation; 0: there was none
	stock   uint64        // steps that were in memory at the last plan, or came since
	planned time.Duration // when that plan was made, by Pool.now
	latency time.Duration // of reservations, decaying
	rate    float64       // steps a second
}

// queue has the sequences that need a range. At most Options.Concurrency goroutines reserve
// them; there is none while the queue is empty.
type queue struct {
	mu         sync.Mutex
	urgent     []*Sequence // requests wait for these
	background []*Sequence
	running    int
	closed     bool
	idle       sync.WaitGroup // the goroutines
}

// place is the place of a sequence in the queue. It may be in both lists; then the first
// that reaches it removes it from both.
type place uint8

const (
	notQueued place = iota
	queuedBackground
	queuedUrgent
)

func (q *queue) push(s *Sequence, urgent bool) {
	if urgent {
		s.place, q.urgent = queuedUrgent, append(q.urgent, s)
	} else {
		s.place, q.background = queuedBackground, append(q.background, s)
	}
}

// next returns the next sequence, or nil: then the goroutine ends.
func (q *queue) next() *Sequence {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, list := range []*[]*Sequence{&q.urgent, &q.background} {
		for len(*list) > 0 {
			s := (*list)[0]
			(*list)[0] = nil
			*list = (*list)[1:]
			if s.place != notQueued {
				s.place = notQueued
				return s
			}
		}
		*list = nil
	}
	q.running--
	return nil
}

// close lets no reservation begin, and waits for the running ones.
func (q *queue) close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	done := make(chan struct{})
	go func() { q.idle.Wait(); close(done) }()
	return wait(ctx, done)
}
