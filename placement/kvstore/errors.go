// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/tuple"
)

// CorruptError says that a stored value cannot be used: it is damaged, or, if the error is a
// persistable.ErrNewer, a newer version wrote it.
type CorruptError struct {
	Key []byte // in the database
	Err error
}

// Error implements error.
func (e *CorruptError) Error() string {
	if errors.Is(e.Err, newer.Err) {
		return fmt.Sprintf("kvstore: the value of key %s cannot be used: %v", tuple.Describe(e.Key), e.Err)
	}
	return fmt.Sprintf("kvstore: the value of key %s is damaged: restore it from a backup, so that its epochs go on: %v", tuple.Describe(e.Key), e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// lockError is the error of a lock's operation.
func lockError(key placement.Key, err error) error {
	var typed *placement.LockError
	if err == nil || errors.As(err, &typed) {
		return err
	}
	return &placement.LockError{Key: key, Err: markUnavailable(err)}
}

// storageError is the error of a storage's operation.
func storageError(key placement.Key, op string, err error) error {
	if err == nil {
		return nil
	}
	return &placement.StorageError{Key: key, Op: op, Err: markUnavailable(err)}
}

// markUnavailable wraps errors after which the outcome is unknown, those of the engine and
// of contexts, in an ErrUnavailable.
func markUnavailable(err error) error {
	retry := new(kv.RetryError)
	switch {
	case kv.CodeOf(err) != 0, errors.As(err, &retry), errors.Is(err, kv.ErrOutcomeUnknown), errors.Is(err, kv.ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", placement.ErrUnavailable, err)
	}
	return err
}

// staleError returns the error of an operation whose lease is not in force.
func staleError(r Row) error {
	switch {
	case r.Epoch == 0:
		return fmt.Errorf("%w: the key was never claimed", placement.ErrStale)
	case r.Free():
		return fmt.Errorf("%w: no member has the key since epoch %d", placement.ErrStale, r.Epoch)
	}
	return fmt.Errorf("%w: %v has the key under epoch %d", placement.ErrStale, r.Owner, r.Epoch)
}
