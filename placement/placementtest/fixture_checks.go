// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"bytes"
	"context"
	"errors"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/placement"
)

func (f *fixture) checkTakeover(l placement.Lease, found *placement.ActivationEntry, stored error, e placement.ActivationEntry) {
	f.Helper()
	if stored == nil {
		f.checkSame(found, &e)
	} else {
		f.checkStaleStorage("a store that came late", "store", stored)
		f.checkStored(l.Key, nil)
	}
	f.checkStaleStorage("a store after the takeover", "store", f.Storage.Store(f.ctx, placement.Lease{Key: l.Key, Owner: e.Owner, Epoch: e.Epoch, ExpiresAt: l.ExpiresAt}, e))
}

// refuseTooLarge stores the entry with a snapshot of one more byte.
func (f *fixture) refuseTooLarge(l placement.Lease, e placement.ActivationEntry, want *placement.ActivationEntry) {
	f.Helper()
	e.Record.Snapshot = append(bytes.Clone(e.Record.Snapshot), 'x')
	err := f.Storage.Store(f.ctx, l, e)
	var storageErr *placement.StorageError
	if !errors.As(err, &storageErr) || !errors.Is(err, placement.ErrTooLarge) {
		f.Fatalf("a snapshot of %d bytes: got %v, want a StorageError that is an ErrTooLarge", len(e.Record.Snapshot), err)
	}
	f.checkStored(l.Key, want)
}

// checkSameLease checks that a repeated claim got the same lease.
func (f *fixture) checkSameLease(got, want placement.Lease) {
	f.Helper()
	if got.Epoch != want.Epoch || got.Owner != want.Owner || got.Request != want.Request || !got.ExpiresAt.Equal(want.ExpiresAt) || got.Kept != want.Kept {
		f.Fatalf("the repeated claim got %+v, want %+v again", got, want)
	}
}

// repeatLost makes a call whose answer is lost, and makes it again.
func (f *fixture) repeatLost(executed bool, call func() error) {
	f.Helper()
	f.Lose(executed)
	if err := call(); !errors.Is(err, placement.ErrUnavailable) {
		f.Fatalf("the answer is lost: got %v, want an ErrUnavailable", err)
	}
	if err := call(); err != nil {
		f.Fatalf("repeated after a lost answer (executed: %v): %v", executed, err)
	}
}

// checkLease checks that a lease is the answer to the claim.
func (f *fixture) checkLease(c placement.TryAcquire, l placement.Lease) {
	f.Helper()
	if l.Key != c.Key || l.Owner != c.Owner || l.Request != c.RequestID || l.Epoch < 1 {
		f.Fatalf("the claim %+v got the lease %+v", c, l)
	}
	if expires := !l.ExpiresAt.IsZero(); expires != (f.TTL > 0) || expires && !l.ExpiresAt.Equal(c.Now.Add(f.TTL)) {
		f.Fatalf("a lease claimed at %v lasts until %v, want %v", c.Now, l.ExpiresAt, f.TTL)
	}
	if l.Entry != nil && !l.Loaded {
		f.Fatal("a lease has an entry, but is not Loaded")
	}
}

func (f *fixture) checkHeld(l placement.Lease, err error, holder placement.Lease) {
	f.Helper()
	want := placement.Holder{Owner: holder.Owner, Address: addressOf(holder.Owner), Epoch: holder.Epoch}
	var lockErr *placement.LockError
	if !errors.As(err, &lockErr) || !errors.Is(err, placement.ErrHeld) || lockErr.Holder != want || lockErr.Key != holder.Key {
		f.Fatalf("got %+v and %#v (%v), want an ErrHeld with the holder %+v", l, err, err, want)
	}
}

// checkStored checks what the storage has; nil: nothing.
func (f *fixture) checkStored(key placement.Key, want *placement.ActivationEntry) {
	f.Helper()
	got, err := f.Storage.Load(f.ctx, key)
	if err != nil {
		f.Fatalf("loading %s: %v", key, err)
	}
	f.checkSame(got, want)
}

func (f *fixture) checkSame(got, want *placement.ActivationEntry) {
	f.Helper()
	if got != nil && want != nil && len(want.Record.Snapshot) > 10_000 { // cmp would take seconds
		f.checkSameSnapshot(got.Record.Snapshot, want.Record.Snapshot)
		g, w := *got, *want
		g.Record.Snapshot, w.Record.Snapshot = nil, nil
		got, want = &g, &w
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("the stored entry (-want +got):\n%s", diff)
	}
}

func (f *fixture) checkSameSnapshot(got, want []byte) {
	f.Helper()
	if !bytes.Equal(got, want) {
		f.Fatalf("the stored snapshot has %d bytes, which are not the %d that were stored", len(got), len(want))
	}
}

// foundEntry is the entry that a coordinator sees after its claim.
func (f *fixture) foundEntry(l placement.Lease) *placement.ActivationEntry {
	f.Helper()
	if l.Loaded {
		return l.Entry
	}
	e, err := f.Storage.Load(f.ctx, l.Key)
	if err != nil {
		f.Fatalf("loading %s: %v", l.Key, err)
	}
	return e
}

// checkStaleLock checks an error of a lock that is an ErrStale.
func (f *fixture) checkStaleLock(what string, err error) {
	f.Helper()
	var lockErr *placement.LockError
	if !errors.As(err, &lockErr) || !errors.Is(err, placement.ErrStale) {
		f.Fatalf("%s: got %v, want a LockError that is an ErrStale", what, err)
	}
}

// checkStaleStorage checks an error of a storage that is an ErrStale.
func (f *fixture) checkStaleStorage(what, op string, err error) {
	f.Helper()
	var storageErr *placement.StorageError
	if !errors.As(err, &storageErr) || !errors.Is(err, placement.ErrStale) || storageErr.Op != op {
		f.Fatalf("%s: got %v, want a StorageError of %s that is an ErrStale", what, err, op)
	}
}

func (f *fixture) checkEndedLock(what string, err error) {
	f.Helper()
	lockErr := (*placement.LockError)(nil)
	if !errors.As(err, &lockErr) || !errors.Is(err, context.Canceled) || !errors.Is(err, placement.ErrUnavailable) {
		f.Errorf("%s with an ended context: got %v, want a LockError that is an ErrUnavailable and context.Canceled", what, err)
	}
}

func (f *fixture) checkEndedStorage(op string, err error) {
	f.Helper()
	storageErr := (*placement.StorageError)(nil)
	if !errors.As(err, &storageErr) || !errors.Is(err, context.Canceled) || !errors.Is(err, placement.ErrUnavailable) || storageErr.Op != op {
		f.Errorf("%s with an ended context: got %v, want a StorageError that is an ErrUnavailable and context.Canceled", op, err)
	}
}

// onlyWinner returns the only lease.
func (f *fixture) onlyWinner(commands []placement.TryAcquire, results []claimResult) placement.Lease {
	f.Helper()
	var leases []placement.Lease
	for i, r := range results {
		if r.err == nil {
			f.checkLease(commands[i], r.lease)
			leases = append(leases, r.lease)
		}
	}
	if len(leases) != 1 {
		f.Fatalf("%d of %d claims were granted, want one; the first failed with %v", len(leases), len(results), results[0].err)
	}
	return leases[0]
}

// refuseForged stores under a lease that was not granted.
func (f *fixture) refuseForged(owner placement.Owner, epoch int64, want *placement.ActivationEntry) {
	f.Helper()
	forged := placement.Lease{Key: key, Owner: owner, Request: 99, Epoch: epoch}
	if f.TTL > 0 {
		forged.ExpiresAt = f.now.Add(f.TTL)
	}
	f.checkStaleStorage("storing under a forged lease", "store", f.Storage.Store(f.ctx, forged, f.newEntry(forged)))
	f.checkStored(key, want)
}
