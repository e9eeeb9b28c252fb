// SPDX-License-Identifier: Apache-2.0

package sequence

import "slices"

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
