// SPDX-License-Identifier: Apache-2.0

package placement

import "time"

// Event tells of one step in the life of a key or of a coordinator. Which fields
// are set depends on its kind.
type Event struct {
	Kind       EventKind
	Key        Key
	Owner      Owner     // the authority, the holder, the member
	Epoch      int64     // of the activation
	PID        string    // of the activation
	Request    RequestID // in whose course it happened
	Topology   int64     // the version by which it was decided
	Reason     string    // why, for people
	ObservedAt time.Time // what the coordinator was told as now
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
