// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/placement"
)

// fixture is one law on a home of its own.
type fixture struct {
	testing.TB
	Home
	ctx          context.Context
	now          time.Time
	request      placement.RequestID
	incarnations map[string]int64
}

func newFixture(t testing.TB, h Home) *fixture {
	return &fixture{
		TB: t, Home: h, ctx: t.Context(), now: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC),
		incarnations: map[string]int64{},
	}
}

// key is what most laws are about.
var key = placement.Key{Kind: "thing", ID: "1"}

// member starts a member.
func (f *fixture) member(name string) placement.Owner {
	if f.Join != nil {
		return f.Join(name)
	}
	f.incarnations[name]++
	return placement.Owner{Name: name, Incarnation: f.incarnations[name]}
}

// die makes the owner dead: as the home's Kill, or by letting all leases lapse.
func (f *fixture) die(owner placement.Owner) {
	if f.Kill != nil {
		f.Kill(owner)
	}
	f.now = f.now.Add(f.TTL)
}

// leave lets the owner leave cleanly.
func (f *fixture) leave(owner placement.Owner) {
	if f.Leave == nil {
		f.die(owner)
		return
	}
	f.Leave(owner)
}

// command is a new claim of the owner.
func (f *fixture) command(owner placement.Owner, key placement.Key) placement.TryAcquire {
	f.request++
	return placement.TryAcquire{
		RequestID: f.request, Key: key, Owner: owner, Address: addressOf(owner), Topology: 7, Now: f.now,
	}
}

func addressOf(owner placement.Owner) string { return owner.Name + ":4000" }

// claim makes a new claim, which has to be granted.
func (f *fixture) claim(owner placement.Owner, key placement.Key) placement.Lease {
	f.Helper()
	return f.granted(f.command(owner, key))
}

// granted executes a claim, which has to be granted.
func (f *fixture) granted(c placement.TryAcquire) placement.Lease {
	f.Helper()
	l, err := f.Lock.TryAcquire(f.ctx, c)
	if err != nil {
		f.Fatalf("the claim of %s on %s: %v", c.Owner, c.Key, err)
	}
	f.checkLease(c, l)
	return l
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

// refused makes a new claim, which has to be refused because of the holder.
func (f *fixture) refused(owner placement.Owner, key placement.Key, holder placement.Lease) {
	f.Helper()
	l, err := f.Lock.TryAcquire(f.ctx, f.command(owner, key))
	f.checkHeld(l, err, holder)
}

func (f *fixture) checkHeld(l placement.Lease, err error, holder placement.Lease) {
	f.Helper()
	want := placement.Holder{Owner: holder.Owner, Address: addressOf(holder.Owner), Epoch: holder.Epoch}
	var lockErr *placement.LockError
	if !errors.As(err, &lockErr) || !errors.Is(err, placement.ErrHeld) || lockErr.Holder != want || lockErr.Key != holder.Key {
		f.Fatalf("got %+v and %#v (%v), want an ErrHeld with the holder %+v", l, err, err, want)
	}
}

// entry is one of the lease.
func (f *fixture) entry(l placement.Lease) placement.ActivationEntry {
	pid := fmt.Sprintf("%s/%s$%d", l.Owner.Name, l.Key, l.Epoch)
	return placement.ActivationEntry{
		Owner: l.Owner, Address: addressOf(l.Owner), Epoch: l.Epoch, Topology: 7, ObservedAt: f.now,
		Record: placement.ActivationRecord{PID: pid, Snapshot: []byte("of " + pid), Version: uint64(l.Epoch)},
	}
}

// confirm stores an entry of the lease, and releases what is not Kept, as a
// coordinator does.
func (f *fixture) confirm(l placement.Lease) placement.ActivationEntry {
	f.Helper()
	e := f.entry(l)
	f.store(l, e)
	if !l.Kept {
		f.release(l)
	}
	return e
}

// activate claims and confirms.
func (f *fixture) activate(owner placement.Owner, key placement.Key) placement.ActivationEntry {
	f.Helper()
	return f.confirm(f.claim(owner, key))
}

func (f *fixture) store(l placement.Lease, e placement.ActivationEntry) {
	f.Helper()
	if err := f.Storage.Store(f.ctx, l, e); err != nil {
		f.Fatalf("storing %+v: %v", e, err)
	}
}

func (f *fixture) release(l placement.Lease) {
	f.Helper()
	if err := f.Lock.Release(f.ctx, l); err != nil {
		f.Fatalf("releasing %+v: %v", l, err)
	}
}

func (f *fixture) remove(key placement.Key, owner placement.Owner, epoch int64) {
	f.Helper()
	if err := f.Storage.Remove(f.ctx, key, owner, epoch); err != nil {
		f.Fatalf("removing epoch %d of %s: %v", epoch, owner, err)
	}
}

// stored checks what the storage has; nil: nothing.
func (f *fixture) stored(key placement.Key, want *placement.ActivationEntry) {
	f.Helper()
	got, err := f.Storage.Load(f.ctx, key)
	if err != nil {
		f.Fatalf("loading %s: %v", key, err)
	}
	f.same(got, want)
}

func (f *fixture) same(got, want *placement.ActivationEntry) {
	f.Helper()
	if got != nil && want != nil && len(want.Record.Snapshot) > 10_000 { // cmp would take seconds
		f.sameSnapshot(got.Record.Snapshot, want.Record.Snapshot)
		g, w := *got, *want
		g.Record.Snapshot, w.Record.Snapshot = nil, nil
		got, want = &g, &w
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.Fatalf("the stored entry (-want +got):\n%s", diff)
	}
}

func (f *fixture) sameSnapshot(got, want []byte) {
	f.Helper()
	if !bytes.Equal(got, want) {
		f.Fatalf("the stored snapshot has %d bytes, which are not the %d that were stored", len(got), len(want))
	}
}

// found is the entry that a coordinator sees after its claim.
func (f *fixture) found(l placement.Lease) *placement.ActivationEntry {
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

// staleLock checks an error of a lock that is an ErrStale.
func (f *fixture) staleLock(what string, err error) {
	f.Helper()
	var lockErr *placement.LockError
	if !errors.As(err, &lockErr) || !errors.Is(err, placement.ErrStale) {
		f.Fatalf("%s: got %v, want a LockError that is an ErrStale", what, err)
	}
}

// staleStorage checks an error of a storage that is an ErrStale.
func (f *fixture) staleStorage(what, op string, err error) {
	f.Helper()
	var storageErr *placement.StorageError
	if !errors.As(err, &storageErr) || !errors.Is(err, placement.ErrStale) || storageErr.Op != op {
		f.Fatalf("%s: got %v, want a StorageError of %s that is an ErrStale", what, err, op)
	}
}
