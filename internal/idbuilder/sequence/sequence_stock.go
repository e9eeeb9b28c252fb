// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// Callers of the methods in this file hold Sequence.mu. Each change of the numbers in memory
// closes the segment and publishes another.

// takeLocked takes numbers from the first range that has enough. It drops the ranges before
// that one, so that the numbers of a call keep their distance, and those of later calls their
// order.
func (s *Sequence) takeLocked(need uint64) (last int64, ok bool) {
	if last, _, ok := s.seg.Load().take(need); ok {
		return last, true
	}
	for i, r := range s.ahead {
		if r.size >= need {
			s.skipRanges(i)
			last, _, ok = s.seg.Load().take(need)
			return last, ok
		}
	}
	return 0, false
}

// skipRanges drops the segment and i ranges after it.
func (s *Sequence) skipRanges(i int) {
	left, next := s.retireSegment(), s.ahead[i]
	s.countDropped(left.size)
	for _, r := range s.ahead[:i] {
		s.countDropped(r.size)
	}
	s.setAhead(s.ahead[i+1:])
	s.publishSegment(next)
}

// countDropped counts numbers that will not be given.
func (s *Sequence) countDropped(distance uint64) {
	s.pool.counts.dropped.Add(distance / size(s.spec.Step))
}

// retireSegment closes the segment. The caller publishes another one.
func (s *Sequence) retireSegment() span {
	g := s.seg.Load()
	left := g.close()
	if left.size < g.size {
		s.last, s.given = left.from, true
	}
	return left
}

// publishSegment makes a range the segment.
func (s *Sequence) publishSegment(r span) {
	step := s.spec.Step
	s.seg.Store(&segment{from: r.from, size: r.size, low: s.lowOf(), step: step, unit: size(step)})
}

// lowOf returns the remainder of the segment below which the next range is reserved.
func (s *Sequence) lowOf() uint64 {
	later := s.laterSteps()
	if s.exhausted || later >= s.low {
		return 0
	}
	return s.low - later
}

// addRange adds a range after those in memory, and joins it to the last one if they
// touch.
func (s *Sequence) addRange(r span) {
	left := s.retireSegment()
	n := len(s.ahead)
	switch {
	case n > 0 && s.ahead[n-1].isFollowedBy(r, s.spec.Step):
		s.ahead[n-1].size += r.size
	case n == 0 && left.size == 0:
		left = r
	case n == 0 && left.isFollowedBy(r, s.spec.Step):
		left.size += r.size
	default:
		s.ahead = append(s.ahead, r)
	}
	s.publishSegment(left)
}

// clipToBound removes the numbers beyond the bound from memory.
func (s *Sequence) clipToBound() {
	left := s.retireSegment()
	left.size = min(left.size, s.spec.roomAfter(left.from))
	kept := s.ahead[:0]
	for _, r := range s.ahead {
		if r.size = min(r.size, s.spec.roomAfter(r.from)); r.size > 0 {
			kept = append(kept, r)
		}
	}
	s.setAhead(kept)
	s.publishSegment(left)
	s.stock = s.totalSteps()
}

// sealSegment moves the numbers of the segment to the ranges, so that Take needs the lock.
func (s *Sequence) sealSegment() {
	left := s.retireSegment()
	if left.size > 0 {
		s.ahead = slices.Insert(s.ahead, 0, left)
	}
	s.publishSegment(span{from: left.from})
}

func (s *Sequence) setAhead(ranges []span) {
	if len(ranges) == 0 {
		ranges = nil // most sequences have none: keep no memory
	}
	s.ahead = ranges
}

// totalSteps returns how much is in memory.
func (s *Sequence) totalSteps() uint64 {
	return s.seg.Load().stepsLeft() + s.laterSteps()
}

// laterSteps returns how much is in the ranges after the segment.
func (s *Sequence) laterSteps() (sum uint64) {
	for _, r := range s.ahead {
		sum += r.size
	}
	return sum
}

// widestRange returns the size of the largest range in memory.
func (s *Sequence) widestRange() uint64 {
	widest := s.seg.Load().stepsLeft()
	for _, r := range s.ahead {
		widest = max(widest, r.size)
	}
	return widest
}

// lastSpan returns the range in memory to which the next one may be joined.
func (s *Sequence) lastSpan() span {
	if n := len(s.ahead); n > 0 {
		return s.ahead[n-1]
	}
	g := s.seg.Load()
	left := g.stepsLeft()
	return span{from: move(g.from, g.size-left, g.step), size: left}
}

// awaitNumbers takes numbers for which the segment is too small.
func (s *Sequence) awaitNumbers(ctx context.Context, need uint64) (int64, error) {
	w, last, err := s.takeOrEnlist(need)
	switch {
	case err == errEvicted:
		return s.takeRevived(ctx, need)
	case w == nil:
		return last, err
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		s.withdrawWaiter(w, ctx.Err())
	}
	return w.last, w.err
}

// takeOrEnlist takes the numbers, returns an error if there are none, or makes a waiter.
func (s *Sequence) takeOrEnlist(need uint64) (w *waiter, last int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, 0, ErrClosed
	case s.evicted:
		return nil, 0, errEvicted
	}
	if last, ok := s.takeLocked(need); ok {
		if s.wantsRange() {
			s.requestRange(false)
		}
		return nil, last, nil
	}
	s.scheduleRecheck()
	if err := s.checkExhausted(need); err != nil {
		return nil, 0, err
	}
	w = &waiter{need: need, done: make(chan struct{})}
	s.waiters = append(s.waiters, w)
	s.pool.counts.waits.Add(1)
	s.requestRange(true)
	return w, 0, nil
}

// withdrawWaiter ends a waiter after its context has ended, unless it has its numbers.
func (s *Sequence) withdrawWaiter(w *waiter, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiters, w)
	if i < 0 {
		return
	}
	s.waiters = slices.Delete(s.waiters, i, i+1)
	err := fmt.Errorf("sequence %q: the store has not yet given numbers: %w", s.name, cause)
	if s.err != nil {
		err = fmt.Errorf("%w; its latest error: %w", err, s.err)
	}
	w.finish(0, err)
}

// serveWaiters gives the numbers in memory to the waiters, and ends the waiters for which
// there will be none.
func (s *Sequence) serveWaiters() {
	waiting := s.waiters[:0]
	for _, w := range s.waiters {
		if last, ok := s.takeLocked(w.need); ok {
			w.finish(last, nil)
		} else if err := s.checkExhausted(w.need); err != nil {
			w.finish(0, err)
		} else {
			waiting = append(waiting, w)
		}
	}
	s.setWaiters(waiting)
}

// endWaiters ends all waiters with an error.
func (s *Sequence) endWaiters(err error) {
	for _, w := range s.waiters {
		w.finish(0, err)
	}
	s.setWaiters(nil)
}

// setWaiters keeps no memory while there is none: most sequences are idle.
func (s *Sequence) setWaiters(waiting []*waiter) {
	if len(waiting) == 0 {
		s.waiters = nil
		return
	}
	clear(s.waiters[len(waiting):])
	s.waiters = waiting
}

// waitersNeed returns how much the waiters need together.
func (s *Sequence) waitersNeed() uint64 {
	var sum uint64
	for _, w := range s.waiters {
		sum = addSat(sum, w.need)
	}
	return sum
}

// scheduleRecheck makes the sequence forget after a time that the store is exhausted.
func (s *Sequence) scheduleRecheck() {
	if s.exhausted && s.pool.now()-s.planned >= recheck {
		s.exhausted, s.tail = false, false
	}
}

// checkExhausted returns an [*ExhaustedError] if the sequence knows that the store cannot
// give numbers up to a distance.
func (s *Sequence) checkExhausted(need uint64) error {
	if room := s.reachableDistance(); need > room || need == math.MaxUint64 {
		return &ExhaustedError{Name: s.name, Bound: s.spec.Bound, Room: min(room, need-1)}
	}
	return nil
}

// reachableDistance returns the greatest distance for which the store may still have numbers.
func (s *Sequence) reachableDistance() uint64 {
	switch {
	case s.exhausted:
		return s.widestRange()
	case !s.known:
		return math.MaxUint64
	}
	return max(s.widestRange(), addSat(s.lastSpan().size, s.spec.roomAfter(s.reserved)))
}

// waiter is a call of Take that waits for numbers of the store.
type waiter struct {
	need uint64
	done chan struct{} // closed under Sequence.mu, once last or err is set
	last int64
	err  error
}

func (w *waiter) finish(last int64, err error) {
	w.last, w.err = last, err
	close(w.done)
}

var errEvicted = errors.New("sequence: evicted")

// recheck is the time after which an exhausted store is asked again: another pool may have
// given numbers back.
const recheck = 10 * time.Second

// segment is a range of numbers in memory. Taking from it needs no lock. Only used changes;
// any other change makes a new segment, after [segment.close] has taken all numbers out of
// the old one.
type segment struct {
	from int64  // the value before the first number
	size uint64 // the distance from there to the last number
	low  uint64 // the next range is reserved when less than this is left
	step int64  // Spec.Step
	unit uint64 // |step|
	used atomic.Uint64
}

// take takes the numbers up to a distance from the last taken one. It returns that number,
// and how much is left. It takes nothing if the numbers do not fit.
func (g *segment) take(need uint64) (last int64, left uint64, ok bool) {
	for {
		used := g.used.Load()
		if g.size-used < need {
			return 0, 0, false
		}
		if g.used.CompareAndSwap(used, used+need) {
			return move(g.from, used, g.step), g.size - used - need, true
		}
	}
}

// close takes all remaining numbers.
func (g *segment) close() span {
	used := g.used.Swap(g.size)
	return span{from: move(g.from, used, g.step), size: g.size - used}
}

// stepsLeft returns how much is left.
func (g *segment) stepsLeft() uint64 { return g.size - g.used.Load() }

// lastTaken returns the last number that was taken, or the value before the first.
func (g *segment) lastTaken() int64 { return move(g.from, g.used.Load(), g.step) }

// span is a range of numbers: those after from, up to a distance of size.
type span struct {
	from int64
	size uint64
}

// isFollowedBy reports whether a range begins where this one ends.
func (r span) isFollowedBy(next span, step int64) bool {
	return move(r.from, r.size, step) == next.from
}
