// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"
)

// Kind is the kind of a [Violation].
type Kind string

// Kinds of violations.
const (
	TwoLeaders Kind = "two leaders in one term"
	LostEntry  Kind = "a committed entry was lost"
	Mismatch   Kind = "logs do not match"
	StaleRead  Kind = "a read was stale"
	NoLeader   Kind = "no leader within the bound"
	Unstable   Kind = "a leader without reason to fall did not stay"
	Stuck      Kind = "an entry was not applied within the bound"
	NoTimeout  Kind = "an election without an election timeout"
	Panicked   Kind = "etcd/raft found its invariants broken"
	Broken     Kind = "the simulation is broken"
)

// Violation is a broken promise of Raft. Running the seed again with the same options repeats
// it.
type Violation struct {
	Kind Kind
	Seed uint64
	At   time.Duration // true time since the beginning of the run
	Text string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("sim: %s: %s (at %v of seed %d)", v.Kind, v.Text, v.At, v.Seed)
}
