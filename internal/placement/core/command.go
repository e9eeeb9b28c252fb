// SPDX-License-Identifier: Apache-2.0

package core

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Command is an action that a [Coordinator] wants done. A driver executes it
// once and gives the result, which has the same request id, to
// [Coordinator.HandleCommandResult]. It is one of [TryAcquire],
// [LoadActivation], [EnsureActivation], [StoreActivation], [Release],
// [Deactivate] and [RemoveActivation].
type Command interface {
	// Correlation returns the request and the key of the command.
	Correlation() (placement.RequestID, placement.Key)
	isCommand()
}

// TryAcquire asks the lock for the right to activate a key. The result is a
// [LockAcquired].
type TryAcquire struct {
	RequestID placement.RequestID
	Key       placement.Key
	Owner     placement.Owner
	Address   string // of the owner, for other members
	Topology  int64  // the version by which the owner was chosen
	Now       time.Time
}

// LoadActivation reads the entry of a key. The result is an [ActivationLoaded].
type LoadActivation struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
}

// EnsureActivation makes the activation, or finds the one of this epoch that
// exists already. The result is an [ActivationEnsured].
type EnsureActivation struct {
	RequestID placement.RequestID
	Key       placement.Key
	Owner     placement.Owner
	Epoch     int64
	Previous  *ActivationRecord // of the activation before, if its owner died; else nil
}

// StoreActivation stores the entry, if the lease is still in force. The result is
// an [ActivationStored].
type StoreActivation struct {
	RequestID placement.RequestID
	Key       placement.Key
	Lease     Lease
	Entry     ActivationEntry
}

// Release gives a lease back, if it is still in force. The result is a
// [LockReleased].
type Release struct {
	RequestID placement.RequestID
	Key       placement.Key
	Lease     Lease
}

// Deactivate ends the activation of an epoch. The result is an
// [ActivationDeactivated].
type Deactivate struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
	Cause     placement.Cause
	IdleSince time.Time // with CauseIdle: the executor refuses if it was used after that
}

// RemoveActivation removes the entry, if it is still that of the owner and the
// epoch, and with a [Lease] that is Kept its claim. The result is an
// [ActivationRemoved].
type RemoveActivation struct {
	RequestID placement.RequestID
	Key       placement.Key
	Owner     placement.Owner
	Epoch     int64
}

// Correlation implements [Command].
func (c TryAcquire) Correlation() (placement.RequestID, placement.Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c LoadActivation) Correlation() (placement.RequestID, placement.Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c EnsureActivation) Correlation() (placement.RequestID, placement.Key) {
	return c.RequestID, c.Key
}

// Correlation implements [Command].
func (c StoreActivation) Correlation() (placement.RequestID, placement.Key) {
	return c.RequestID, c.Key
}

// Correlation implements [Command].
func (c Release) Correlation() (placement.RequestID, placement.Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c Deactivate) Correlation() (placement.RequestID, placement.Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c RemoveActivation) Correlation() (placement.RequestID, placement.Key) {
	return c.RequestID, c.Key
}

func (TryAcquire) isCommand() {}

func (LoadActivation) isCommand() {}

func (EnsureActivation) isCommand() {}

func (StoreActivation) isCommand() {}

func (Release) isCommand() {}

func (Deactivate) isCommand() {}

func (RemoveActivation) isCommand() {}

// CommandResult is the result of a [Command]. It may arrive late or twice: a
// [Coordinator] gives back whatever it does not need any more. It is one of
// [LockAcquired], [ActivationLoaded], [ActivationEnsured], [ActivationStored],
// [LockReleased], [ActivationDeactivated] and [ActivationRemoved].
type CommandResult interface {
	// Correlation returns the request and the key of the command.
	Correlation() (placement.RequestID, placement.Key)
	isResult()
}

// LockAcquired is the result of [TryAcquire].
type LockAcquired struct {
	RequestID placement.RequestID
	Key       placement.Key
	Lease     Lease // if Err is nil
	Err       error // a *[LockError], or an error of the driver
}

// ActivationLoaded is the result of [LoadActivation].
type ActivationLoaded struct {
	RequestID placement.RequestID
	Key       placement.Key
	Entry     *ActivationEntry // nil: there is none
	Err       error            // a *[StorageError], or an error of the driver
}

// ActivationEnsured is the result of [EnsureActivation].
type ActivationEnsured struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
	Record    ActivationRecord // if Err is nil
	Err       error
}

// ActivationStored is the result of [StoreActivation].
type ActivationStored struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
	Err       error // a *[StorageError], or an error of the driver
}

// LockReleased is the result of [Release].
type LockReleased struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
	Err       error // a *[LockError], or an error of the driver
}

// ActivationDeactivated is the result of [Deactivate].
type ActivationDeactivated struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
	// UsedAt is set by an executor that has not ended the activation, because it
	// was used after the command's IdleSince.
	UsedAt time.Time
	Err    error // the activation has ended all the same, or counts as ended
}

// ActivationRemoved is the result of [RemoveActivation].
type ActivationRemoved struct {
	RequestID placement.RequestID
	Key       placement.Key
	Epoch     int64
	Err       error // a *[StorageError], or an error of the driver
}

// Correlation implements [CommandResult].
func (r LockAcquired) Correlation() (placement.RequestID, placement.Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationLoaded) Correlation() (placement.RequestID, placement.Key) {
	return r.RequestID, r.Key
}

// Correlation implements [CommandResult].
func (r ActivationEnsured) Correlation() (placement.RequestID, placement.Key) {
	return r.RequestID, r.Key
}

// Correlation implements [CommandResult].
func (r ActivationStored) Correlation() (placement.RequestID, placement.Key) {
	return r.RequestID, r.Key
}

// Correlation implements [CommandResult].
func (r LockReleased) Correlation() (placement.RequestID, placement.Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationDeactivated) Correlation() (placement.RequestID, placement.Key) {
	return r.RequestID, r.Key
}

// Correlation implements [CommandResult].
func (r ActivationRemoved) Correlation() (placement.RequestID, placement.Key) {
	return r.RequestID, r.Key
}

func (LockAcquired) isResult() {}

func (ActivationLoaded) isResult() {}

func (ActivationEnsured) isResult() {}

func (ActivationStored) isResult() {}

func (LockReleased) isResult() {}

func (ActivationDeactivated) isResult() {}

func (ActivationRemoved) isResult() {}

// Lease is the right of an owner to activate a key, under an epoch. A home of
// locks grants it.
type Lease struct {
	Key     placement.Key
	Owner   placement.Owner
	Request placement.RequestID // of the claim
	// Epoch is greater than that of every lease granted for the key before, even
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

// ActivationRecord is what an executor tells about an activation.
type ActivationRecord struct {
	PID      string // where it is, for the caller's transport
	Snapshot []byte // the executor's own; nil: none
	Version  uint64 // of the snapshot
}

// ActivationEntry is an activation as a storage keeps it.
type ActivationEntry struct {
	Owner      placement.Owner
	Address    string // of the owner
	Epoch      int64  // of the lease under which it was stored
	Topology   int64  // the version by which the owner was chosen
	Record     ActivationRecord
	ObservedAt time.Time
}
