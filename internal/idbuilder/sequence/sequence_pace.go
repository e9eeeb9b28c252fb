// SPDX-License-Identifier: Apache-2.0

package sequence

import (
	"math"
	"time"
)

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
	meanwhile := 2 * s.rate * s.latency.Seconds() * float64(size(s.spec.Step))
	low := max(float64(reach)*s.pool.o.PrefetchThreshold, meanwhile, 1)
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
