// SPDX-License-Identifier: Apache-2.0

package placement

import "time"

// Lease is the right of an owner to activate a key, under an epoch. A home of
// locks grants it.
type Lease struct {
	Key     Key
	Owner   Owner
	Request RequestID // of the claim
	// Epoch is greater than that of every lease granted for the key before, also
	// after releases and removals. It fences: a home, and a system outside,
	// refuses an epoch smaller than one that it has seen.
	Epoch int64
	// ExpiresAt is when the lease lapses, on the clock that the coordinator was
	// given. The zero time means that it lasts as long as its owner lives.
	ExpiresAt time.Time
	// Loaded says that Entry is what the storage has for the key, nil if it has
	// nothing: the home read it with the claim, and the coordinator does not load
	// it again.
	Loaded bool
	Entry  *ActivationEntry
	// Kept says that the claim itself is the activation: there is nothing to
	// release once the activation is stored, and its removal ends the claim.
	Kept bool
}

// Holder is the owner that has a key.
type Holder struct {
	Owner   Owner
	Address string
	Epoch   int64
}

// ActivationRecord is what an executor tells about an activation.
type ActivationRecord struct {
	PID      string // where it is, for the caller's transport
	Snapshot []byte // the executor's own; nil: none
	Version  uint64 // of the snapshot
}

// ActivationEntry is an activation as a storage keeps it.
type ActivationEntry struct {
	Owner      Owner
	Address    string // of the owner
	Epoch      int64  // of the lease under which it was stored
	Topology   int64  // the version by which the owner was chosen
	Record     ActivationRecord
	ObservedAt time.Time
}
