// SPDX-License-Identifier: Apache-2.0

package placement

import "time"

// Locality says whether an activation is in this process.
type Locality uint8

// The localities. The zero Locality is none.
const (
	Local  Locality = iota + 1 // it is active here
	Remote                     // another member has it, or is to activate it
)

// Decision is where a key belongs by the strategy and a topology.
type Decision struct {
	Key        Key
	Authority  Owner  // the member that activates the key if no member has it
	Address    string // of the authority
	Topology   int64  // the version by which it was decided
	Strategy   string // the name of the strategy
	ObservedAt time.Time
}

// Resolution is where to send what is for a key.
type Resolution struct {
	Decision Decision
	Locality Locality
	Owner    Owner  // who has the activation, or the authority if that is not known
	Address  string // of the owner
	Epoch    int64  // of the activation; 0: not known
	PID      string // of the activation, or of where the authority will make it
}
