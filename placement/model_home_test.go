// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"time"
)

// home is a naive home of locks, entries and activations, which does what their
// contracts say.
type home struct {
	kept bool // the claim is the activation
	rows map[Key]*row
	live map[activationID]bool // what the executor has made and not ended
}

type activationID struct {
	key   Key
	epoch int64
}

// row is what the home has of a key.
type row struct {
	last    int64 // the greatest epoch granted
	owner   Owner // zero: the lock is free
	epoch   int64
	request RequestID
	expires time.Time
	entry   *ActivationEntry
	stored  map[int64]bool // the epochs whose store succeeded
}

func newHome(kept bool) *home {
	return &home{kept: kept, rows: map[Key]*row{}, live: map[activationID]bool{}}
}

func (h *home) row(key Key) *row {
	if h.rows[key] == nil {
		h.rows[key] = &row{stored: map[int64]bool{}}
	}
	return h.rows[key]
}

func (r *row) isHeld(now time.Time) bool {
	return !r.owner.IsZero() && (r.expires.IsZero() || now.Before(r.expires))
}

func (r *row) free() { r.owner, r.epoch, r.request = Owner{}, 0, 0 }

// execute does what a command says. ttl is that of a lease that is granted, busy
// says that the executor has used an idle activation.
func (h *home) execute(cmd Command, now time.Time, ttl time.Duration, busy bool) CommandResult {
	id, key := cmd.Correlation()
	r := h.row(key)
	switch cmd := cmd.(type) {
	case TryAcquire:
		l, err := h.tryAcquire(r, cmd, now, ttl)
		return LockAcquired{RequestID: id, Key: key, Lease: l, Err: err}
	case LoadActivation:
		return ActivationLoaded{RequestID: id, Key: key, Entry: r.entry}
	case EnsureActivation:
		h.live[activationID{key, cmd.Epoch}] = true
		return ActivationEnsured{RequestID: id, Key: key, Epoch: cmd.Epoch}
	case StoreActivation:
		return ActivationStored{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: h.store(r, cmd, now)}
	case Release:
		return LockReleased{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: h.release(r, cmd.Lease)}
	case RemoveActivation:
		return ActivationRemoved{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: h.remove(r, cmd)}
	case Deactivate:
		d := ActivationDeactivated{RequestID: id, Key: key, Epoch: cmd.Epoch}
		if busy && cmd.Cause == CauseIdle && h.live[activationID{key, cmd.Epoch}] {
			d.UsedAt = now
		} else {
			delete(h.live, activationID{key, cmd.Epoch})
		}
		return d
	}
	panic("unknown command")
}

func (h *home) tryAcquire(r *row, cmd TryAcquire, now time.Time, ttl time.Duration) (Lease, error) {
	l := Lease{Key: cmd.Key, Owner: cmd.Owner, Request: cmd.RequestID, Kept: h.kept, Loaded: h.kept}
	switch {
	case r.isHeld(now) && r.owner != cmd.Owner:
		return Lease{}, &LockError{Key: cmd.Key, Holder: Holder{Owner: r.owner, Epoch: r.epoch}, Err: ErrHeld}
	case r.isHeld(now) && cmd.RequestID < r.request:
		return Lease{}, &LockError{Key: cmd.Key, Err: ErrStale}
	case !(r.isHeld(now) && r.request == cmd.RequestID):
		r.last++
		r.owner, r.epoch, r.request, r.expires = cmd.Owner, r.last, cmd.RequestID, time.Time{}
		if ttl > 0 {
			r.expires = now.Add(ttl)
		}
	}
	l.Epoch, l.ExpiresAt, l.Entry = r.epoch, r.expires, r.entry
	return l, nil
}

func (h *home) store(r *row, cmd StoreActivation, now time.Time) error {
	if !r.isHeld(now) || r.owner != cmd.Lease.Owner || r.epoch != cmd.Lease.Epoch || r.entry != nil && r.entry.Epoch > cmd.Lease.Epoch {
		return &StorageError{Key: cmd.Key, Op: "store", Err: ErrStale}
	}
	e := cmd.Entry
	r.entry = &e
	r.stored[e.Epoch] = true
	return nil
}

func (h *home) release(r *row, l Lease) error {
	if r.owner.IsZero() {
		return nil
	}
	if r.owner != l.Owner || r.epoch != l.Epoch {
		return &LockError{Key: l.Key, Err: ErrStale}
	}
	r.free()
	if h.kept {
		r.entry = nil
	}
	return nil
}

func (h *home) remove(r *row, cmd RemoveActivation) error {
	if h.kept && r.owner == cmd.Owner && r.epoch == cmd.Epoch {
		r.free()
	}
	switch {
	case r.entry == nil:
		return nil
	case r.entry.Owner != cmd.Owner || r.entry.Epoch != cmd.Epoch:
		return &StorageError{Key: cmd.Key, Op: "remove", Err: ErrStale}
	}
	r.entry = nil
	return nil
}

// steal gives a key to another member: the home takes its owner for dead.
func (h *home) steal(key Key, to Owner, version int64) {
	r := h.row(key)
	r.last++
	r.owner, r.epoch, r.request, r.expires = to, r.last, 0, time.Time{}
	r.entry = &ActivationEntry{Owner: to, Epoch: r.last, Topology: version}
	if !h.kept {
		r.free()
	}
}

// yield gives back what another member has of a key.
func (h *home) yield(key Key, self Owner) {
	r := h.row(key)
	if r.owner != self {
		r.free()
	}
	if r.entry != nil && r.entry.Owner != self {
		r.entry = nil
	}
}

// failure is the result of a command whose outcome is not known.
func failure(cmd Command) CommandResult {
	id, key := cmd.Correlation()
	err := fmt.Errorf("%w: %w", ErrUnavailable, context.DeadlineExceeded)
	switch cmd := cmd.(type) {
	case TryAcquire:
		return LockAcquired{RequestID: id, Key: key, Err: &LockError{Key: key, Err: err}}
	case LoadActivation:
		return ActivationLoaded{RequestID: id, Key: key, Err: err}
	case EnsureActivation:
		return ActivationEnsured{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: err}
	case StoreActivation:
		return ActivationStored{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: err}
	case Release:
		return LockReleased{RequestID: id, Key: key, Epoch: cmd.Lease.Epoch, Err: err}
	case Deactivate:
		return ActivationDeactivated{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: err}
	case RemoveActivation:
		return ActivationRemoved{RequestID: id, Key: key, Epoch: cmd.Epoch, Err: err}
	}
	panic("unknown command")
}
