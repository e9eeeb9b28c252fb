// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// Lock is a home of locks: the specification's PlacementLock. It is safe for
// concurrent use. Suite placementtest checks an implementation. A key that is not
// valid is refused with placement.ErrInvalidKey. When ctx has ended nothing is
// done; the error is an ErrUnavailable that wraps the context's.
type Lock interface {
	// TryAcquire grants the key to the command's owner unless another live owner has it, and
	// returns at once. The epoch of the lease is greater than all before. A repetition of the
	// command that was granted the key, with the same owner and request id, gets the same
	// lease again. A later request of the same owner, with a greater id, gets a new epoch,
	// which ends the earlier lease. An earlier request of the owner that has the key comes
	// late: it gets an ErrStale and changes nothing. The error is a *core.LockError: an
	// ErrHeld with the holder; an ErrStale, if for the home the command's owner is dead; or an
	// ErrUnavailable, after which the lock may have been granted.
	TryAcquire(ctx context.Context, c core.TryAcquire) (core.Lease, error)
	// Release gives a lease back if it is still in force; otherwise it returns an
	// ErrStale and changes nothing. Releasing twice is not an error. The home keeps the epoch,
	// and an entry that another owner has stored. If the claim is the activation
	// (Lease.Kept), Release removes an entry stored under this lease, and may remove one
	// that the same owner stored under an earlier lease.
	Release(ctx context.Context, lease core.Lease) error
}

// Storage is a home of entries: the specification's ActivationStorage. It is
// safe for concurrent use. Its errors are *core.StorageError, or the
// placement.ErrInvalidKey of a key that is not valid. When ctx has ended nothing is
// done; the error is an ErrUnavailable that wraps the context's.
type Storage interface {
	// Load returns the entry of the key, nil if there is none. The owner, the
	// epoch and the record belong together.
	Load(ctx context.Context, key placement.Key) (*core.ActivationEntry, error)
	// Store stores the entry. It may be repeated. It refuses with an ErrStale, and
	// changes nothing, if the lease is not in force any more, the entry is not of the
	// lease's owner and epoch, or the stored entry has a greater epoch. It refuses an entry that is too
	// large with an ErrTooLarge before it writes anything.
	Store(ctx context.Context, lease core.Lease, entry core.ActivationEntry) error
	// Remove removes the entry of the key if it is that of the owner and the epoch;
	// otherwise it returns an ErrStale and changes nothing. Removing twice is not an error.
	// If the claim is the activation (Lease.Kept), it ends the claim and keeps the epoch.
	// If the key was claimed again since, it leaves that claim, and removes the entry or
	// refuses with an ErrStale.
	Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error
}

// Executor makes and ends activations: the specification's ActivationExecutor.
// It is safe for concurrent use. An error, a panic and a call that does not return in
// time fail the request.
type Executor interface {
	// EnsureActivation makes the activation of the command's epoch, or returns it if it
	// exists already.
	EnsureActivation(ctx context.Context, c core.EnsureActivation) (core.ActivationRecord, error)
	// Deactivate ends the activation of the command's epoch and returns once nothing
	// of it runs any more. It returns a *BusyError, and ends nothing, if the cause is
	// CauseIdle and the activation was used after IdleSince. An activation that does not exist is not an error.
	Deactivate(ctx context.Context, c core.Deactivate) error
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

// execute calls the method of a home or of the executor that the command names.
func (h Homes) execute(ctx context.Context, c core.Command) core.CommandResult {
	switch c := c.(type) {
	case core.TryAcquire:
		lease, err := h.Lock.TryAcquire(ctx, c)
		return core.LockAcquired{RequestID: c.RequestID, Key: c.Key, Lease: lease, Err: homeError(err)}
	case core.LoadActivation:
		entry, err := h.Storage.Load(ctx, c.Key)
		return core.ActivationLoaded{RequestID: c.RequestID, Key: c.Key, Entry: entry, Err: homeError(err)}
	case core.EnsureActivation:
		record, err := h.Executor.EnsureActivation(ctx, c)
		return core.ActivationEnsured{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Record: record, Err: err}
	case core.StoreActivation:
		err := h.Storage.Store(ctx, c.Lease, c.Entry)
		return core.ActivationStored{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case core.Release:
		err := h.Lock.Release(ctx, c.Lease)
		return core.LockReleased{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case core.Deactivate:
		return deactivateResult(c, h.Executor.Deactivate(ctx, c))
	case core.RemoveActivation:
		err := h.Storage.Remove(ctx, c.Key, c.Owner, c.Epoch)
		return core.ActivationRemoved{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: homeError(err)}
	}
	panic(fmt.Sprintf("driver: the command %T is unknown", c))
}

// deactivateResult returns the result of a Deactivate. The executor can only refuse to end an
// idle activation.
func deactivateResult(c core.Deactivate, err error) core.ActivationDeactivated {
	r := core.ActivationDeactivated{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: err}
	var busy *BusyError
	if errors.As(err, &busy) && c.Cause == placement.CauseIdle && !busy.UsedAt.IsZero() {
		r.UsedAt, r.Err = busy.UsedAt, nil
	}
	return r
}

// failedResult returns the result of a command that failed. The operation may have taken
// effect.
func failedResult(c core.Command, err error) core.CommandResult {
	switch c := c.(type) {
	case core.TryAcquire:
		return core.LockAcquired{RequestID: c.RequestID, Key: c.Key, Err: homeError(err)}
	case core.LoadActivation:
		return core.ActivationLoaded{RequestID: c.RequestID, Key: c.Key, Err: homeError(err)}
	case core.EnsureActivation:
		return core.ActivationEnsured{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: err}
	case core.StoreActivation:
		return core.ActivationStored{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case core.Release:
		return core.LockReleased{RequestID: c.RequestID, Key: c.Key, Epoch: c.Lease.Epoch, Err: homeError(err)}
	case core.Deactivate:
		return core.ActivationDeactivated{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: err}
	case core.RemoveActivation:
		return core.ActivationRemoved{RequestID: c.RequestID, Key: c.Key, Epoch: c.Epoch, Err: homeError(err)}
	}
	panic(fmt.Sprintf("driver: the command %T is unknown", c))
}

// homeError turns an error of a home that says nothing about the outcome into an
// ErrUnavailable: the operation may have taken effect.
func homeError(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{placement.ErrInvalidKey, placement.ErrHeld, placement.ErrStale, placement.ErrTooLarge, placement.ErrOverloaded, placement.ErrUnavailable} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", placement.ErrUnavailable, err)
}
