// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrLeaseLost: a lease is no longer its holder's. It is the cause of the
	// end of [Lease.Context], and comes as a *[LostError].
	ErrLeaseLost = errors.New("leasefdb: the lease is lost")
	// ErrHeld: the name is another holder's. It comes as a *[HeldError].
	ErrHeld = errors.New("leasefdb: the lease is held by another")
	// ErrReleased is the cause of the end of [Lease.Context] after
	// [Lease.Release].
	ErrReleased = errors.New("leasefdb: the lease was released")
)

// LostError says why a lease is no longer its holder's. It is an
// [ErrLeaseLost]. It is not retryable: the attempt of a transaction that checks the
// lease changed nothing.
type LostError struct {
	Name   string // of the lease, quoted, or the machine id
	Epoch  int64  // under which it was held; 0 for a machine id
	Reason string // what was found instead
	Err    error  // the cause, if any
}

// Error implements error.
func (e *LostError) Error() string {
	if e.Epoch == 0 {
		return fmt.Sprintf("%v: %s: %s", ErrLeaseLost, e.Name, e.Reason)
	}
	return fmt.Sprintf("%v: %s under epoch %d: %s", ErrLeaseLost, e.Name, e.Epoch, e.Reason)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrLeaseLost].
func (e *LostError) Is(target error) bool { return target == ErrLeaseLost }

// HeldError names the holder of a name. It is an [ErrHeld].
type HeldError struct {
	State State

	fence []byte // the key that changes when the name may be free
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %q is held by %q under epoch %d", ErrHeld, e.State.Name, e.State.Holder, e.State.Epoch)
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// StateError says that the stored form of a name cannot be used: it is damaged, or,
// if the error is a lease.ErrNewer, a newer version wrote it.
type StateError struct {
	Name   string
	Key    []byte
	Reason string
	Err    error // the cause, if any
}

// Error implements error.
func (e *StateError) Error() string {
	text := fmt.Sprintf("leasefdb: lease %q at key %x: %s", e.Name, e.Key, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Err }

// lostTo returns the error of a holder that finds another state.
func lostTo(g Grant, now State) *LostError {
	reason := "nothing is stored of it any more: its directory was removed"
	switch {
	case now.Epoch == g.Epoch && now.Holder == "":
		reason = "it was released"
	case now.Holder == "" && now.Epoch > 0:
		reason = fmt.Sprintf("others have held it since, up to epoch %d", now.Epoch)
	case now.Epoch > 0:
		reason = fmt.Sprintf("it is held by %q under epoch %d", now.Holder, now.Epoch)
	}
	return &LostError{Name: fmt.Sprintf("%q", g.Name), Epoch: g.Epoch, Reason: reason}
}

// lapseError is the cause of a context that ends at its deadline.
func lapseError(g Grant, last error) *LostError {
	reason := fmt.Sprintf("it was not renewed within %v, so others may take it over", g.Duration.Round(time.Millisecond))
	if last != nil {
		reason = "it cannot be renewed any more: " + last.Error()
	}
	return &LostError{Name: fmt.Sprintf("%q", g.Name), Epoch: g.Epoch, Reason: reason, Err: last}
}
