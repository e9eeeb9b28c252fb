// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
)

// Why a coordinator or a home refuses.
var (
	// ErrNotReady says that no topology is known yet. Retry.
	ErrNotReady = errors.New("placement: no topology is known yet; retry")
	// ErrStopped says that the coordinator was stopped, or never started.
	ErrStopped = errors.New("placement: the coordinator is stopped")
	// ErrStarted says that the coordinator was started already.
	ErrStarted = errors.New("placement: the coordinator was started already")
	// ErrDead says that others take this incarnation of the member for dead. The
	// program needs a new incarnation, and with it a new coordinator. It wraps [ErrStopped].
	ErrDead = fmt.Errorf("%w: others take this incarnation for dead", ErrStopped)
	// ErrInvalidKey says that the kind or the id of a key breaks the rules of [Key]. The text says which.
	ErrInvalidKey = errors.New("placement: the key is invalid")
	// ErrPending says that a resolve waits for a request. Resolve again later.
	ErrPending = errors.New("placement: the activation is under way; retry")
	// ErrNoMember says that no member of the topology can activate the key. The text says
	// what the members lack. Start a member that has the kind and what the strategy asks for.
	ErrNoMember = errors.New("placement: no member can activate the key")
	// ErrOverloaded says that a bound of [Options] on requests or waiters is reached. Retry.
	ErrOverloaded = errors.New("placement: too many resolves are under way; retry")
	// ErrHeld says that another owner has the key.
	ErrHeld = errors.New("placement: another owner has the key")
	// ErrStale says that a lease, an epoch or an owner is not in force any more.
	ErrStale = errors.New("placement: the lease is not in force any more")
	// ErrUnavailable says that a home could not be reached. The operation may have happened.
	ErrUnavailable = errors.New("placement: the home of locks or activations cannot be reached")
	// ErrTooLarge says that a snapshot is over the limit of the home. Nothing was written.
	ErrTooLarge = errors.New("placement: the snapshot is too large")
	// ErrTimeout says that a request has not ended in time. It gives back what it has
	// acquired when it ends. Retry.
	ErrTimeout = errors.New("placement: the activation takes too long; retry")
	// ErrStaleTopology says that a topology is older than the one in force.
	ErrStaleTopology = errors.New("placement: the topology is older than the one in force")
	// ErrTopologyBehind says that the key was placed by a topology newer than the
	// one in force here. Retry once that has arrived.
	ErrTopologyBehind = errors.New("placement: the key was placed by a newer topology; retry")
	// ErrActivationLost is the cause of contexts of activations that another owner may have.
	ErrActivationLost = errors.New("placement: another owner may have the activation")
)

// clip shortens a key for an error text.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// LockError says why a lock was not acquired or not released. Err is an
// [ErrHeld], with Holder then, an [ErrStale] or an [ErrUnavailable].
type LockError struct {
	Key    Key
	Holder Holder // of the key, according to the home; zero: unknown
	Err    error
}

// Error implements error.
func (e *LockError) Error() string {
	if e.Holder.Owner.IsZero() {
		return fmt.Sprintf("placement: the lock of %s: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("placement: the lock of %s, which %s has under epoch %d: %v", e.Key, e.Holder.Owner, e.Holder.Epoch, e.Err)
}

// Unwrap returns the cause.
func (e *LockError) Unwrap() error { return e.Err }

// StorageError says why an entry was not loaded, stored or removed. Err is an
// [ErrStale], an [ErrUnavailable] or an [ErrTooLarge].
type StorageError struct {
	Key Key
	Op  string // load, store or remove
	Err error
}

// Error implements error.
func (e *StorageError) Error() string { return fmt.Sprintf("placement: %s %s: %v", e.Op, e.Key, e.Err) }

// Unwrap returns the cause.
func (e *StorageError) Unwrap() error { return e.Err }

// ActivationError says that the executor could not make an activation.
type ActivationError struct {
	Key Key
	Err error
}

// Error implements error.
func (e *ActivationError) Error() string {
	return fmt.Sprintf("placement: %s cannot be activated: %v", e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *ActivationError) Unwrap() error { return e.Err }

// IsRetryable reports whether a resolve that failed with err may succeed if it is
// repeated later. An error of an executor is not retryable, unless an error that it wraps
// has a method Retryable() bool that returns true.
func IsRetryable(err error) bool {
	var failed *ActivationError
	if errors.As(err, &failed) {
		var says interface{ Retryable() bool }
		return errors.As(failed.Err, &says) && says.Retryable()
	}
	return isOneOf(err, ErrNotReady, ErrPending, ErrOverloaded, ErrTimeout, ErrUnavailable, ErrTopologyBehind, ErrStale, ErrHeld) ||
		ofHome(err) && isOneOf(err, context.Canceled, context.DeadlineExceeded)
}

func isOneOf(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// ofHome reports whether err comes from a home and not from the caller's context.
func ofHome(err error) bool {
	var lock *LockError
	var storage *StorageError
	return errors.As(err, &lock) || errors.As(err, &storage)
}

func pendingError(key Key, id RequestID) error {
	return fmt.Errorf("%w: %s waits for request %d", ErrPending, key, id)
}

func lockError(key Key, err error) error {
	var typed *LockError
	if errors.As(err, &typed) {
		return err
	}
	return &LockError{Key: key, Err: err}
}

func storageError(key Key, op string, err error) error {
	var typed *StorageError
	if errors.As(err, &typed) {
		return err
	}
	return &StorageError{Key: key, Op: op, Err: err}
}

func activationError(key Key, err error) error {
	var typed *ActivationError
	if errors.As(err, &typed) {
		return err
	}
	return &ActivationError{Key: key, Err: err}
}
