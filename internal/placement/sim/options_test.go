// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/placement"
)

// Options configure a run. The zero value runs the program as it is.
type Options struct {
	// Home says which home of locks the members use. The default value, AnyHome,
	// leaves the choice to the seed.
	Home Home
	// Open opens the store of a run, if it is to be another than package memory's. Its
	// claims are the activations. alive says which owners are members at the instant at
	// which it is called.
	Open func(alive func(placement.Owner) bool) (Store, error)
	// Mutation is put into the program.
	Mutation Mutation
	// Trace is called with each line of a trace of the run. It can be nil.
	Trace func(line string)

	cut map[int]bool // steps of the plan that are left out, by index
}

// Store is a home of locks and entries, and has the registers of the actors. Its
// methods take no time.
type Store interface {
	driver.Lock
	driver.Storage
	// Holder returns the holder of a key; false if it is free.
	Holder(key placement.Key) (placement.Holder, bool)
	// Update reads and writes the register of a key in one step, in which the epoch is in
	// force, and returns an ErrActivationLost if it is not. A register that was never
	// written has 0.
	Update(key placement.Key, owner placement.Owner, epoch int64, change func(found int) int) error
}

// Home is one of the modes of the home of locks.
type Home int

// Homes.
const (
	AnyHome   Home = iota
	KeptHome       // the claim is the activation, as in the database
	LapseHome      // locks lapse, and the entry lies apart from them
)

// Mutation is a fault of the program rather than of its surroundings. The oracle must
// notice each.
type Mutation int

// Mutations.
const (
	None               Mutation = iota
	NoFence                     // effects are not fenced
	CheckThenWrite              // the fence is checked when an effect is sent, and not in the step in which it is applied
	HideStoreFailures           // what was not stored counts as stored
	DropLateResults             // some results of commands never arrive
	RemoveAnything              // removals and releases regard neither owner nor epoch
	TakeFromLiving              // a home grants what a living owner has
	IgnoreEntries               // a loaded entry is taken for none
	ReuseEpochs                 // two grants in a row have one epoch
	ReuseIncarnations           // a member that restarts has the incarnation that it had
	ForgetReleases              // what is given back stays
	DeactivateEarly             // an activation counts as ended while it still works
	UnreachableIsDead           // a member that cannot be reached is taken out of the topology
	RenumberTopologies          // an old topology that arrives late counts as the newest
	SwapEvents                  // two events come in the wrong order
	LoseAnswers                 // some resolves are not answered
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
