// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"

	"github.com/kazahana-db/kazahana/placement/internal/recency"
)

// Locality says whether an activation is in this process.
type Locality uint8

// The localities. The zero value is not one.
const (
	Local  Locality = iota + 1 // it is active here
	Remote                     // another member has it, or is to activate it
)

// String returns local or remote.
func (l Locality) String() string { return name(uint8(l), "none", "local", "remote") }

// Decision is where a key belongs by the strategy and a topology.
type Decision struct {
	Key        Key
	Authority  Owner  // the member that activates the key if no member has it
	Address    string // of the authority
	Topology   int64  // the version by which it was decided
	Strategy   string // the name of the strategy
	ObservedAt time.Time
}

// Resolution says where to send messages for a key.
type Resolution struct {
	Decision Decision
	Locality Locality
	Owner    Owner  // of the activation, or the authority if that is not known
	Address  string // of the owner
	Epoch    int64  // of the activation; 0: not known
	PID      string // of the activation; empty: not known
}

// Outcome is what a step of a [Coordinator] has decided. Its slices are valid
// until the next call of the coordinator.
type Outcome struct {
	Resolution *Resolution // of the key that was resolved; nil: not known yet, see Request
	Request    RequestID   // what the resolve waits for, if there is no resolution yet
	Commands   []Command   // to be executed, in any order and at once
	Answers    []Answer    // of requests that have ended, each exactly once
	Events     []Event     // to be published, in this order
	// CacheEvents tell of the cache of locations. They are also to be published in
	// this order.
	CacheEvents []CacheEvent
}

// Answer ends a request. It is for all resolves that were told to wait for the request.
type Answer struct {
	Request    RequestID
	Key        Key
	Resolution Resolution // if Err is nil
	Err        error
}

// Event describes one step in the life of a key or of a coordinator. Which fields
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
	ObservedAt time.Time // the argument now of the coordinator's method
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
	ActivationFailed                      // the executor failed
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
	Started                               // the coordinator is a member or a client
	Stopped                               // the coordinator refuses resolves from now on
)

// String returns the name of the kind.
func (k EventKind) String() string {
	return name(uint8(k), "none", "Resolved", "LockDenied", "Activated", "Requested", "Joined", "Refused", "Acquired",
		"ActivationFailed", "StorageFailed", "ReleaseFailed", "TimedOut", "GivenBack", "Draining", "Kept", "Deactivated",
		"Moved", "Lost", "TopologyChanged", "TopologyRefused", "Started", "Stopped")
}

// CacheEvent tells of one change of the cache of locations.
type CacheEvent struct {
	Kind       CacheEventKind
	Key        Key
	Holder     Holder
	Reason     string
	ObservedAt time.Time
}

// CacheEventKind is what a [CacheEvent] tells of.
type CacheEventKind uint8

// The kinds of cache events.
const (
	CacheAdded    CacheEventKind = iota + 1 // a location was learned
	CacheReplaced                           // one of a newer epoch took its place
	CacheEvicted                            // it was full, or the location is wrong now
	CacheHit                                // a resolve was answered from it
)

// String returns the name of the kind.
func (k CacheEventKind) String() string {
	return name(uint8(k), "none", "CacheAdded", "CacheReplaced", "CacheEvicted", "CacheHit")
}

// step is what a work waits for.
type step uint8

const (
	acquiring step = iota + 1
	loading
	ensuring
	storing
	deactivating
	releasing
	removing
)

// String returns what is done in the step.
func (s step) String() string {
	return name(uint8(s), "none", "acquire", "load", "ensure", "store", "deactivate", "release", "remove")
}

// wait is what resolves wait for: the answer to a request.
type wait struct {
	id    RequestID // 0: no resolve waits
	count int       // how many wait, without those that were abandoned
	began time.Duration
}

// work is an operation that is under way for a key: a request that activates it, the
// end of an activation, or the return of a lease. It lasts until everything that it has
// acquired is an activation in use or was given back.
type work struct {
	id      RequestID // of its commands
	key     Key
	step    step
	keyed   bool // the key waits for it: new resolves join it
	request bool // it is to activate the key
	lease   Lease
	// generation is that of the view by which the key belongs here.
	generation int64
	topology   int64
	wait       wait
	previous   *ActivationRecord
	record     ActivationRecord

	used      *recency.Node[Key, activation] // the activation that ends; nil: it was never in use
	cause     Cause
	asked     Cause // of the Deactivate that was commanded
	made      bool  // the executor was told to make the activation, and may have
	sure      bool  // the executor has confirmed that it made it
	stored    bool  // a store was commanded, and may have happened
	single    bool  // the present step is its last
	unsettled bool  // the outcome of a claim that it repeated is unknown
	lost      bool  // another owner may have the key
	failures  int
	idleSince time.Time
	retryAt   time.Duration // when the step is tried again; 0: it is under way
}

// isOpen reports whether resolves can join the work and get the activation.
func (w *work) isOpen() bool { return w.step <= storing }
