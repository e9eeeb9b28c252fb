// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// LockError says why a lock was not acquired or not released. Err is an
// [placement.ErrHeld], with Holder then, a [placement.ErrStale] or a [placement.ErrUnavailable].
type LockError struct {
	Key    placement.Key
	Holder placement.Holder // of the key, according to the home; zero: unknown
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
// [placement.ErrStale], a [placement.ErrUnavailable] or a [placement.ErrTooLarge].
type StorageError struct {
	Key placement.Key
	Op  string // load, store or remove
	Err error
}

// Error implements error.
func (e *StorageError) Error() string { return fmt.Sprintf("placement: %s %s: %v", e.Op, e.Key, e.Err) }

// Unwrap returns the cause.
func (e *StorageError) Unwrap() error { return e.Err }

// ActivationError says that the executor could not make an activation.
type ActivationError struct {
	Key placement.Key
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
	return isOneOf(err, placement.ErrNotReady, placement.ErrPending, placement.ErrOverloaded, placement.ErrTimeout, placement.ErrUnavailable, placement.ErrTopologyBehind, placement.ErrStale, placement.ErrHeld) ||
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

func pendingError(key placement.Key, id placement.RequestID) error {
	return fmt.Errorf("%w: %s waits for request %d", placement.ErrPending, key, id)
}

func lockError(key placement.Key, err error) error {
	var typed *LockError
	if errors.As(err, &typed) {
		return err
	}
	return &LockError{Key: key, Err: err}
}

func storageError(key placement.Key, op string, err error) error {
	var typed *StorageError
	if errors.As(err, &typed) {
		return err
	}
	return &StorageError{Key: key, Op: op, Err: err}
}

func activationError(key placement.Key, err error) error {
	var typed *ActivationError
	if errors.As(err, &typed) {
		return err
	}
	return &ActivationError{Key: key, Err: err}
}
