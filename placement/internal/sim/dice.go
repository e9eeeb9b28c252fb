// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"
)

// dice makes the choices about one thing. They depend on the run's seed and on
// what the thing is, and not on how many choices were made before: if a step is
// cut out of a plan, the choices about everything else stay.
type dice struct{ *rand.Rand }

// subject is what a choice is about.
type subject uint64

const (
	aboutPlan subject = iota + 1
	aboutMachine
	aboutCommand
	aboutMessage
	aboutTopology
	aboutMember
	aboutActor
	aboutWorld
)

func newDice(seed uint64, about subject, numbers ...uint64) dice {
	h := mix(seed ^ uint64(about)<<56)
	for _, n := range numbers {
		h = mix(h ^ n)
	}
	return dice{rand.New(rand.NewPCG(h, seed))}
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (d dice) chance(p float64) bool { return d.Float64() < p }

// between returns a time, both bounds included.
func (d dice) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.Int64N(int64(high-low)+1))
}
