// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// check returns why nothing can be done for the owner.
func check(ctx context.Context, key placement.Key, owner placement.Owner) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	if err := owner.Validate(); err != nil {
		return fmt.Errorf("memory: the owner %.80q is invalid: %w", owner, err)
	}
	return nil
}

func checkKey(ctx context.Context, key placement.Key) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", placement.ErrUnavailable, context.Cause(ctx))
	}
	return key.Validate()
}

// lockError returns the error of a lock for what went wrong.
func lockError(key placement.Key, err error) error {
	if fault := (*placement.KeyError)(nil); err == nil || errors.As(err, &fault) {
		return err
	}
	return &placement.LockError{Key: key, Err: err}
}

// storageError returns the error of a storage for what went wrong.
func storageError(key placement.Key, op string, err error) error {
	if fault := (*placement.KeyError)(nil); err == nil || errors.As(err, &fault) {
		return err
	}
	return &placement.StorageError{Key: key, Op: op, Err: err}
}
