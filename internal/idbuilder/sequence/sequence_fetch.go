// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
