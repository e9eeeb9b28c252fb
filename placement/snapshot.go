// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"time"
)

// Snapshot is a copy of the state of a [Coordinator], for people and tests.
type Snapshot struct {
	Self        Owner
	State       State
	Dead        string // why others take Self for dead; empty: they do not
	Topology    int64  // the version in force; 0: none is known
	Members     int    // of the topology
	Locations   int    // cached, of activations elsewhere and of earlier ones here
	Held        int    // as Coordinator.Held
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

// Explanation says why a key is where it is, as one coordinator sees it.
type Explanation struct {
	Key        Key
	Self       Owner
	State      State
	Topology   int64 // the version in force; 0: none is known
	Strategy   string
	Decision   Decision // by the topology in force, if Err is nil
	Err        error    // why there is no decision: a *KeyError, ErrNotReady, or a *NoMemberError
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
