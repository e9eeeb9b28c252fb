// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"time"
)

// Event describes one step in the life of a key or of a member. Which fields
// are set depends on its kind.
type Event struct {
	Kind       EventKind
	Key        Key
	Owner      Owner     // the authority, the holder, the member
	Epoch      int64     // of the activation
	PID        string    // of the activation
	Request    RequestID // that was under way
	Topology   int64     // the version by which it was decided
	Reason     string    // why, for people
	ObservedAt time.Time // the time of the call that it belongs to
}

// EventKind is what an [Event] tells of.
type EventKind uint8

// The kinds of events. The first three are those of the specification.
const (
	Resolved         EventKind = iota + 1 // a resolve has its answer
	LockDenied                            // another owner has the key, or the lock has failed
	Activated                             // an activation is stored and in use
	Requested                             // a resolve began a request
	Joined                                // a resolve joined the request of another
	Refused                               // a resolve was refused
	Acquired                              // the lock was granted
	ActivationFailed                      // the activation could not be made
	StorageFailed                         // the storage failed
	ReleaseFailed                         // a lease was not released; it lapses
	TimedOut                              // a request took too long
	GivenBack                             // a result that came late was given back
	Draining                              // an activation is ending
	Kept                                  // an activation that was to end is in use and stays
	Deactivated                           // an activation has ended
	Moved                                 // a key belongs to another member by a newer topology
	Lost                                  // another owner may have an activation
	TopologyChanged                       // a newer topology is in force
	TopologyRefused                       // an older topology was refused
	Started                               // it is a member or a client from now on
	Stopped                               // it refuses resolves from now on
)

// String returns the name of the kind.
func (k EventKind) String() string {
	return name(uint8(k), "none", "Resolved", "LockDenied", "Activated", "Requested", "Joined", "Refused", "Acquired",
		"ActivationFailed", "StorageFailed", "ReleaseFailed", "TimedOut", "GivenBack", "Draining", "Kept", "Deactivated",
		"Moved", "Lost", "TopologyChanged", "TopologyRefused", "Started", "Stopped")
}

// RequestID names a request of one member: the events of the request have it. It counts from 1 in each
// incarnation. Because an incarnation is never used again, the owner and the id name a request for
// ever.
type RequestID uint64

// Snapshot is a copy of the state of a member or a client, for people and tests.
type Snapshot struct {
	Self        Owner
	State       State
	Dead        string // why others take Self for dead; empty: they do not
	Topology    int64  // the version in force; 0: none is known
	Members     int    // of the topology
	Locations   int    // cached, of activations elsewhere and of earlier ones here
	Held        int    // activations, requests and leases that it has or gives back
	Activations []ActiveKey
	Requests    []PendingRequest
}

// ActiveKey is an activation in use. A [Snapshot] has them by key.
type ActiveKey struct {
	Key      Key
	Epoch    int64
	PID      string
	Topology int64         // the version by which it belongs here
	Idle     time.Duration // since it was used last
}

// PendingRequest is what is under way for a key: a request that activates it, the
// end of an activation, or the return of a lease. A [Snapshot] has them by id.
type PendingRequest struct {
	Request RequestID // of its commands
	Key     Key
	Step    string        // acquire, load, ensure, store, deactivate, release or remove
	Epoch   int64         // of the lease that it has; 0: none yet
	Cause   Cause         // why an activation ends
	Waiting RequestID     // what resolves wait for; 0: none waits
	Waiters int           // how many resolves wait
	Age     time.Duration // of what they wait for
	// Retry is the time until a failed step is repeated. 0: the step is under way.
	Retry time.Duration
}

// Explanation says why a key is where it is, as one process sees it.
type Explanation struct {
	Key        Key
	Self       Owner
	State      State
	Topology   int64 // the version in force; 0: none is known
	Strategy   string
	Decision   Decision // by the topology in force, if Err is nil
	Err        error    // why there is no decision: an ErrInvalidKey, ErrNotReady, or an ErrNoMember
	Candidates []Candidate
	Active     *ActiveKey      // the activation here; nil: there is none
	Pending    *PendingRequest // what is under way for the key; nil: nothing
	Location   *Holder         // the cached location of an activation elsewhere; nil: none
}

// Candidate is a member as the strategy sees it for a key. An [Explanation] has
// them by name.
type Candidate struct {
	Owner    Owner
	Address  string
	Eligible bool   // it can get the key
	Reason   string // why it can not, or that it was chosen
	Score    uint64 // of a strategy that is a Scorer, if it is eligible
	Load     int64
}

// Decision is where a key belongs by the strategy and a topology.
type Decision struct {
	Key        Key
	Authority  Owner  // the member that activates the key if no member has it
	Address    string // of the authority
	Topology   int64  // the version by which it was decided
	Strategy   string // the name of the strategy
	ObservedAt time.Time
}

// State is what a process does.
type State uint8

// The states.
const (
	StateStopped  State = iota // it refuses resolves, and may still be giving leases and activations back
	StateNotReady              // it refuses resolves until a topology says where keys belong
	StateMember                // it activates keys
	StateClient                // it finds out where keys are, and activates none
)

// String returns the name of the state.
func (s State) String() string { return name(uint8(s), "Stopped", "NotReady", "Member", "Client") }

// Cause is why an activation ends.
type Cause uint8

// The causes. The zero value is not one.
const (
	CauseIdle   Cause = iota + 1 // it was not used for long
	CauseMove                    // it belongs to another member now
	CauseLost                    // another owner may have it
	CauseFailed                  // it could not be stored, or came too late
	CauseStop                    // the member stops
)

// String returns the cause in a word or two.
func (c Cause) String() string {
	return name(uint8(c), "none", "idle", "move", "lost", "failed", "stop")
}

// name returns the name of a value of an enumeration.
func name(i uint8, names ...string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}
