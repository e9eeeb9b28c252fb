// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"time"
)

// RequestID correlates the commands of a [Coordinator] with their results. It counts
// from 1 in each coordinator. Because an owner's incarnation is never used again, the
// owner and the id name a request for ever: homes keep the pair to recognise a claim that
// is repeated after an unknown outcome.
type RequestID uint64

// Command is an action that a [Coordinator] wants done. A driver executes it
// once and gives the result, which has the same request id, to
// [Coordinator.HandleCommandResult]. It is one of [TryAcquire],
// [LoadActivation], [EnsureActivation], [StoreActivation], [Release],
// [Deactivate] and [RemoveActivation].
type Command interface {
	// Correlation returns the request and the key of the command.
	Correlation() (RequestID, Key)
	isCommand()
}

// TryAcquire asks the lock for the right to activate a key. The result is a
// [LockAcquired].
type TryAcquire struct {
	RequestID RequestID
	Key       Key
	Owner     Owner
	Address   string // of the owner, for other members
	Topology  int64  // the version by which the owner was chosen
	Now       time.Time
}

// LoadActivation reads the entry of a key. The result is an [ActivationLoaded].
type LoadActivation struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
}

// EnsureActivation makes the activation, or finds the one of this epoch that
// exists already. The result is an [ActivationEnsured].
type EnsureActivation struct {
	RequestID RequestID
	Key       Key
	Owner     Owner
	Epoch     int64
	Previous  *ActivationRecord // of the activation before, if its owner died; else nil
}

// StoreActivation stores the entry, if the lease is still in force. The result is
// an [ActivationStored].
type StoreActivation struct {
	RequestID RequestID
	Key       Key
	Lease     Lease
	Entry     ActivationEntry
}

// Release gives a lease back, if it is still in force. The result is a
// [LockReleased].
type Release struct {
	RequestID RequestID
	Key       Key
	Lease     Lease
}

// Deactivate ends the activation of an epoch. The result is an
// [ActivationDeactivated].
type Deactivate struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
	Cause     Cause
	IdleSince time.Time // with CauseIdle: the executor refuses if it was used after that
}

// RemoveActivation removes the entry, if it is still that of the owner and the
// epoch, and with a [Lease] that is Kept its claim. The result is an
// [ActivationRemoved].
type RemoveActivation struct {
	RequestID RequestID
	Key       Key
	Owner     Owner
	Epoch     int64
}

// Cause is why an activation ends.
type Cause uint8

// The causes. The zero value is not one.
const (
	CauseIdle   Cause = iota + 1 // it was not used for long
	CauseMove                    // it belongs to another member now
	CauseLost                    // another owner may have it
	CauseFailed                  // it could not be stored, or came too late
	CauseStop                    // the coordinator stops
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

// Correlation implements [Command].
func (c TryAcquire) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c LoadActivation) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c EnsureActivation) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c StoreActivation) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c Release) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c Deactivate) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

// Correlation implements [Command].
func (c RemoveActivation) Correlation() (RequestID, Key) { return c.RequestID, c.Key }

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
	Correlation() (RequestID, Key)
	isResult()
}

// LockAcquired is the result of [TryAcquire].
type LockAcquired struct {
	RequestID RequestID
	Key       Key
	Lease     Lease // if Err is nil
	Err       error // a *[LockError], or an error of the driver
}

// ActivationLoaded is the result of [LoadActivation].
type ActivationLoaded struct {
	RequestID RequestID
	Key       Key
	Entry     *ActivationEntry // nil: there is none
	Err       error            // a *[StorageError], or an error of the driver
}

// ActivationEnsured is the result of [EnsureActivation].
type ActivationEnsured struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
	Record    ActivationRecord // if Err is nil
	Err       error
}

// ActivationStored is the result of [StoreActivation].
type ActivationStored struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
	Err       error // a *[StorageError], or an error of the driver
}

// LockReleased is the result of [Release].
type LockReleased struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
	Err       error // a *[LockError], or an error of the driver
}

// ActivationDeactivated is the result of [Deactivate].
type ActivationDeactivated struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
	// UsedAt is set by an executor that has not ended the activation, because it
	// was used after the command's IdleSince.
	UsedAt time.Time
	Err    error // the activation has ended all the same, or counts as ended
}

// ActivationRemoved is the result of [RemoveActivation].
type ActivationRemoved struct {
	RequestID RequestID
	Key       Key
	Epoch     int64
	Err       error // a *[StorageError], or an error of the driver
}

// Correlation implements [CommandResult].
func (r LockAcquired) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationLoaded) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationEnsured) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationStored) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r LockReleased) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationDeactivated) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

// Correlation implements [CommandResult].
func (r ActivationRemoved) Correlation() (RequestID, Key) { return r.RequestID, r.Key }

func (LockAcquired) isResult() {}

func (ActivationLoaded) isResult() {}

func (ActivationEnsured) isResult() {}

func (ActivationStored) isResult() {}

func (LockReleased) isResult() {}

func (ActivationDeactivated) isResult() {}

func (ActivationRemoved) isResult() {}
