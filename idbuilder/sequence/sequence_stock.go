// SPDX-License-Identifier: Apache-2.0

package sequence

import "slices"

// The methods of this file are called with Sequence.mu held. Each change of what
// is in memory closes the segment and publishes another.

// takeLocked takes numbers from the first range that has as many. It drops the
// ranges before that one: numbers of one call, and of one after the other, keep
// their distance and order.
func (s *Sequence) takeLocked(need uint64) (last int64, ok bool) {
	if last, _, ok := s.seg.Load().take(need); ok {
		return last, true
	}
	for i, r := range s.ahead {
		if r.size >= need {
			s.skip(i)
			last, _, ok = s.seg.Load().take(need)
			return last, ok
		}
	}
	return 0, false
}

// skip drops the segment and i ranges after it.
func (s *Sequence) skip(i int) {
	left, next := s.retire(), s.ahead[i]
	s.drop(left.size)
	for _, r := range s.ahead[:i] {
		s.drop(r.size)
	}
	s.setAhead(s.ahead[i+1:])
	s.publish(next)
}

// drop counts numbers that will not be given.
func (s *Sequence) drop(distance uint64) {
	s.pool.counts.dropped.Add(distance / size(s.spec.Step))
}

// retire closes the segment. The caller publishes another one.
func (s *Sequence) retire() span {
	g := s.seg.Load()
	left := g.close()
	if left.size < g.size {
		s.last, s.given = left.from, true
	}
	return left
}

// publish makes a range the segment.
func (s *Sequence) publish(r span) {
	step := s.spec.Step
	s.seg.Store(&segment{from: r.from, size: r.size, low: s.lowOf(), step: step, unit: size(step)})
}

// lowOf returns below what remainder of the segment the next range is reserved.
func (s *Sequence) lowOf() uint64 {
	later := s.later()
	if s.exhausted || later >= s.low {
		return 0
	}
	return s.low - later
}

// add puts a range behind those in memory, and joins it to the last one if they
// touch.
func (s *Sequence) add(r span) {
	left := s.retire()
	n := len(s.ahead)
	switch {
	case n > 0 && s.ahead[n-1].touches(r, s.spec.Step):
		s.ahead[n-1].size += r.size
	case n == 0 && left.size == 0:
		left = r
	case n == 0 && left.touches(r, s.spec.Step):
		left.size += r.size
	default:
		s.ahead = append(s.ahead, r)
	}
	s.publish(left)
}

// clip takes out of memory what lies beyond the bound.
func (s *Sequence) clip() {
	left := s.retire()
	left.size = min(left.size, s.spec.room(left.from))
	kept := s.ahead[:0]
	for _, r := range s.ahead {
		if r.size = min(r.size, s.spec.room(r.from)); r.size > 0 {
			kept = append(kept, r)
		}
	}
	s.setAhead(kept)
	s.publish(left)
	s.stock = s.total()
}

// seal takes the numbers of the segment out of reach of Take.
func (s *Sequence) seal() {
	left := s.retire()
	if left.size > 0 {
		s.ahead = slices.Insert(s.ahead, 0, left)
	}
	s.publish(span{from: left.from})
}

func (s *Sequence) setAhead(ranges []span) {
	if len(ranges) == 0 {
		ranges = nil // most sequences have none: keep no memory
	}
	s.ahead = ranges
}

// total returns how much is in memory.
func (s *Sequence) total() uint64 {
	return s.seg.Load().left() + s.later()
}

// later returns how much is in the ranges after the segment.
func (s *Sequence) later() (sum uint64) {
	for _, r := range s.ahead {
		sum += r.size
	}
	return sum
}

// widest returns the size of the largest range in memory.
func (s *Sequence) widest() uint64 {
	widest := s.seg.Load().left()
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
	left := g.left()
	return span{from: move(g.from, g.size-left, g.step), size: left}
}
