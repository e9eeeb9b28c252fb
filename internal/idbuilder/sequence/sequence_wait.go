// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

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

// withdrawWaiter ends a waiter whose context has ended, unless it has its numbers.
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
