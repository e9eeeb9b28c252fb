// SPDX-License-Identifier: Apache-2.0

package core

import (
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/recency"
	"github.com/kazahana-db/kazahana/placement"
)

// Locality says whether an activation is in this process.
type Locality uint8

// The localities. The zero value is not one.
const (
	Local  Locality = iota + 1 // it is active here
	Remote                     // another member has it, or is to activate it
)

// String returns local or remote.
func (l Locality) String() string {
	switch l {
	case Local:
		return "local"
	case Remote:
		return "remote"
	}
	return "none"
}

// Resolution says where to send messages for a key.
type Resolution struct {
	Decision placement.Decision
	Locality Locality
	Owner    placement.Owner // of the activation, or the authority if that is not known
	Address  string          // of the owner
	Epoch    int64           // of the activation; 0: not known
	PID      string          // of the activation; empty: not known
}

// Outcome is what a step of a [Coordinator] has decided. Its slices are valid
// until the next call of the coordinator.
type Outcome struct {
	Resolution *Resolution         // of the key that was resolved; nil: not known yet, see Request
	Request    placement.RequestID // what the resolve waits for, if there is no resolution yet
	Commands   []Command           // to be executed, in any order and at once
	Answers    []Answer            // of requests that have ended, each exactly once
	Events     []placement.Event   // to be published, in this order
	// CacheEvents tell of the cache of locations. They are also to be published in
	// this order.
	CacheEvents []CacheEvent
}

// Answer ends a request. It is for all resolves that were told to wait for the request.
type Answer struct {
	Request    placement.RequestID
	Key        placement.Key
	Resolution Resolution // if Err is nil
	Err        error
}

// CacheEvent tells of one change of the cache of locations.
type CacheEvent struct {
	Kind       CacheEventKind
	Key        placement.Key
	Holder     placement.Holder
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

var cacheEventNames = [...]string{"none", "CacheAdded", "CacheReplaced", "CacheEvicted", "CacheHit"}

// String returns the name of the kind.
func (k CacheEventKind) String() string { return cacheEventNames[k] }

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

var stepNames = [...]string{"none", "acquire", "load", "ensure", "store", "deactivate", "release", "remove"}

// String returns what is done in the step.
func (s step) String() string { return stepNames[s] }

// wait is what resolves wait for: the answer to a request.
type wait struct {
	id    placement.RequestID // 0: no resolve waits
	count int                 // how many wait, without those that were abandoned
	began time.Duration
}

// work is an operation that is under way for a key: a request that activates it, the
// end of an activation, or the return of a lease. It lasts until everything that it has
// acquired is an activation in use or was given back.
type work struct {
	id      placement.RequestID // of its commands
	key     placement.Key
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

	used      *recency.Node[placement.Key, activation] // the activation that ends; nil: it was never in use
	cause     placement.Cause
	asked     placement.Cause // of the Deactivate that was commanded
	made      bool            // the executor was told to make the activation, and may have
	sure      bool            // the executor has confirmed that it made it
	stored    bool            // a store was commanded, and may have happened
	single    bool            // the present step is its last
	unsettled bool            // the outcome of a claim that it repeated is unknown
	lost      bool            // another owner may have the key
	failures  int
	idleSince time.Time
	retryAt   time.Duration // when the step is tried again; 0: it is under way
}

// isOpen reports whether resolves can join the work and get the activation.
func (w *work) isOpen() bool { return w.step <= storing }
