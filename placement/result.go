// SPDX-License-Identifier: Apache-2.0

package placement

import "time"

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

func (LockAcquired) isResult()          {}
func (ActivationLoaded) isResult()      {}
func (ActivationEnsured) isResult()     {}
func (ActivationStored) isResult()      {}
func (LockReleased) isResult()          {}
func (ActivationDeactivated) isResult() {}
func (ActivationRemoved) isResult()     {}
