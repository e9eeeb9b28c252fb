// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"math"
	"time"
)

// batchSize returns how many steps to reserve, and sets the remainder below which
// to do so next.
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

// measureRate computes the rate since the last plan, of numbers that were given
// or dropped.
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

// limitReach bounds the reach of a reservation, so that a crash does not lose a large
// part of what the bound leaves.
func (s *Sequence) limitReach(reach uint64) uint64 {
	least := mulSat(uint64(max(1, s.pool.o.BatchSize/smallest)), size(s.spec.Step))
	switch {
	case s.known:
		return min(reach, max(least, s.spec.room(s.reserved)/reserveShare))
	case s.isTight():
		return min(reach, least) // the place of the sequence is not known: find out
	}
	return reach
}

// isTight reports whether a sequence has so few numbers that a batch could be a
// large part of them.
func (s *Sequence) isTight() bool {
	all := mulSat(mulSat(uint64(s.pool.o.BatchSize), roomy), size(s.spec.Step))
	return s.spec.room(s.spec.Start) < all
}

// setLow sets the remainder below which the next range is reserved: the share of
// the options, or what is used while the store answers, twice.
func (s *Sequence) setLow(reach uint64) {
	meanwhile := 2 * s.rate * s.latency.Seconds() * float64(size(s.spec.Step))
	low := max(float64(reach)*s.pool.o.PrefetchThreshold, meanwhile, 1)
	s.low = min(reach, uint64(min(low, math.MaxInt64)))
}

// measureLatency follows the slowest reservations, and forgets them slowly.
func (s *Sequence) measureLatency(latency time.Duration) {
	s.latency = max(latency, s.latency-s.latency/8)
}

const (
	// growth bounds a batch by a multiple of the one before, so that a short burst
	// does not reserve, and a crash then lose, many times what it used.
	growth = 2
	// reserveShare is the part of what is left before the bound that one
	// reservation takes: 1/8.
	reserveShare = 8
	// smallest is the part of Options.BatchSize that a reservation close to the
	// bound takes nevertheless: 1/100.
	smallest = 100
	// roomy is how many of Options.BatchSize a sequence must have, from start to
	// bound, for the share not to matter before its place is known.
	roomy = 1000
	// shortest is the shortest time over which a rate is measured: one request of
	// a thousand numbers does not make a rate of a billion a second.
	shortest = 10 * time.Millisecond
)

// pace adapts the size of a sequence's batches to its use. Leaf's segments
// (Meituan) do so by doubling and halving; here the size follows the rate.
type pace struct {
	batch   int64         // steps of the last reservation; 0: there was none
	stock   uint64        // what was in memory at the last plan, and came since
	planned time.Duration // when that plan was made, by Pool.now
	latency time.Duration // of reservations, decaying
	rate    float64       // steps a second
}
