// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// execute calls the method of a home or of the executor that the command names.
func (h Homes) execute(ctx context.Context, c placement.Command) placement.CommandResult {
	switch c := c.(type) {
	case placement.TryAcquire:
		lease, err := h.Lock.TryAcquire(ctx, c)
		return placement.LockAcquired{RequestID: c.RequestID, Key: c.Key, Lease: lease, Err: homeError(err)}
	case placement.LoadActivation:
		entry, err := h.Storage.Load(ctx, c.Key)
		return placement.ActivationLoaded{RequestID: c.RequestID, Key: c.Key, Entry: entry, Err: homeError(err)}
	case placement.EnsureActivation:
		record, err := h.Executor.EnsureActivation(ctx, c)
		return placement.ActivationEnsured{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Record: record, Err: err}
	case placement.StoreActivation:
		err := h.Storage.Store(ctx, c.Lease, c.Entry)
		return placement.ActivationStored{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case placement.Release:
		err := h.Lock.Release(ctx, c.Lease)
		return placement.LockReleased{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case placement.Deactivate:
		return deactivateResult(c, h.Executor.Deactivate(ctx, c))
	case placement.RemoveActivation:
		err := h.Storage.Remove(ctx, c.Key, c.Owner, c.Epoch)
		return placement.ActivationRemoved{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: homeError(err)}
	}
	panic(fmt.Sprintf("driver: the command %T is unknown", c))
}

// deactivateResult returns the result of a Deactivate. The executor can only refuse to end an
// idle activation.
func deactivateResult(c placement.Deactivate, err error) placement.ActivationDeactivated {
	r := placement.ActivationDeactivated{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: err}
	var busy *BusyError
	if errors.As(err, &busy) && c.Cause == placement.CauseIdle && !busy.UsedAt.IsZero() {
		r.UsedAt, r.Err = busy.UsedAt, nil
	}
	return r
}

// failedResult returns the result of a command that failed. The operation may have taken
// effect.
func failedResult(c placement.Command, err error) placement.CommandResult {
	switch c := c.(type) {
	case placement.TryAcquire:
		return placement.LockAcquired{RequestID: c.RequestID, Key: c.Key, Err: homeError(err)}
	case placement.LoadActivation:
		return placement.ActivationLoaded{RequestID: c.RequestID, Key: c.Key, Err: homeError(err)}
	case placement.EnsureActivation:
		return placement.ActivationEnsured{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: err}
	case placement.StoreActivation:
		return placement.ActivationStored{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case placement.Release:
		return placement.LockReleased{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case placement.Deactivate:
		return placement.ActivationDeactivated{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: err}
	case placement.RemoveActivation:
		return placement.ActivationRemoved{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: homeError(err)}
	}
	panic(fmt.Sprintf("driver: the command %T is unknown", c))
}

// homeError turns an error of a home that says nothing about the outcome into an
// ErrUnavailable: the operation may have taken effect.
func homeError(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{placement.ErrHeld, placement.ErrStale, placement.ErrTooLarge, placement.ErrOverloaded, placement.ErrUnavailable} {
		if errors.Is(err, known) {
			return err
		}
	}
	if keyErr := (*placement.KeyError)(nil); errors.As(err, &keyErr) {
		return err
	}
	return fmt.Errorf("%w: %w", placement.ErrUnavailable, err)
}

// Homes execute the commands of a [Driver]. A client needs none.
type Homes struct {
	Lock     Lock
	Storage  Storage
	Executor Executor
}

func (h Homes) validate() error {
	var faults []error
	missing := func(is bool, name string) {
		if is {
			faults = append(faults, fmt.Errorf("driver: Homes.%s is nil", name))
		}
	}
	missing(h.Lock == nil, "Lock")
	missing(h.Storage == nil, "Storage")
	missing(h.Executor == nil, "Executor")
	return errors.Join(faults...)
}
