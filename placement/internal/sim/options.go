// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
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
