// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kazahana-db/kazahana/internal/placement/core"
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

// startMember starts a member.
func (f *fixture) startMember(name string) placement.Owner {
	if f.Join != nil {
		return f.Join(name)
	}
	f.incarnations[name]++
	return placement.Owner{Name: name, Incarnation: f.incarnations[name]}
}

// killMember makes the owner dead: as the home's Kill, or by letting all leases lapse.
func (f *fixture) killMember(owner placement.Owner) {
	if f.Kill != nil {
		f.Kill(owner)
	}
	f.now = f.now.Add(f.TTL)
}

// leaveCluster lets the owner leave cleanly.
func (f *fixture) leaveCluster(owner placement.Owner) {
	if f.Leave == nil {
		f.killMember(owner)
		return
	}
	f.Leave(owner)
}

// newClaim is a new claim of the owner.
func (f *fixture) newClaim(owner placement.Owner, key placement.Key) core.TryAcquire {
	f.request++
	return core.TryAcquire{
		RequestID: f.request, Key: key, Owner: owner, Address: addressOf(owner), Topology: 7, Now: f.now,
	}
}

func addressOf(owner placement.Owner) string { return owner.Name + ":4000" }

// mustClaim makes a new claim, which has to be granted.
func (f *fixture) mustClaim(owner placement.Owner, key placement.Key) core.Lease {
	f.Helper()
	return f.mustAcquire(f.newClaim(owner, key))
}

// mustAcquire executes a claim, which has to be granted.
func (f *fixture) mustAcquire(c core.TryAcquire) core.Lease {
	f.Helper()
	l, err := f.Lock.TryAcquire(f.ctx, c)
	if err != nil {
		f.Fatalf("the claim of %s on %s: %v", c.Owner, c.Key, err)
	}
	f.checkLease(c, l)
	return l
}

// mustBeHeld makes a new claim, which has to be refused because of the holder.
func (f *fixture) mustBeHeld(owner placement.Owner, key placement.Key, holder core.Lease) {
	f.Helper()
	l, err := f.Lock.TryAcquire(f.ctx, f.newClaim(owner, key))
	f.checkHeld(l, err, holder)
}

// newEntry is one of the lease.
func (f *fixture) newEntry(l core.Lease) core.ActivationEntry {
	pid := fmt.Sprintf("%s/%s$%d", l.Owner.Name, l.Key, l.Epoch)
	return core.ActivationEntry{
		Owner: l.Owner, Address: addressOf(l.Owner), Epoch: l.Epoch, Topology: 7, ObservedAt: f.now,
		Record: core.ActivationRecord{PID: pid, Snapshot: []byte("of " + pid), Version: uint64(l.Epoch)},
	}
}

// mustConfirm stores an entry of the lease, and releases what is not Kept, as a
// coordinator does.
func (f *fixture) mustConfirm(l core.Lease) core.ActivationEntry {
	f.Helper()
	e := f.newEntry(l)
	f.mustStore(l, e)
	if !l.Kept {
		f.mustRelease(l)
	}
	return e
}

// mustActivate claims and confirms.
func (f *fixture) mustActivate(owner placement.Owner, key placement.Key) core.ActivationEntry {
	f.Helper()
	return f.mustConfirm(f.mustClaim(owner, key))
}

func (f *fixture) mustStore(l core.Lease, e core.ActivationEntry) {
	f.Helper()
	if err := f.Storage.Store(f.ctx, l, e); err != nil {
		f.Fatalf("storing %+v: %v", e, err)
	}
}

func (f *fixture) mustRelease(l core.Lease) {
	f.Helper()
	if err := f.Lock.Release(f.ctx, l); err != nil {
		f.Fatalf("releasing %+v: %v", l, err)
	}
}

func (f *fixture) mustRemove(key placement.Key, owner placement.Owner, epoch int64) {
	f.Helper()
	if err := f.Storage.Remove(f.ctx, key, owner, epoch); err != nil {
		f.Fatalf("removing epoch %d of %s: %v", epoch, owner, err)
	}
}

// raceClaims lets ten members claim the key by each of the homes at once: one wins, and the others
// are told its name.
func (f *fixture) raceClaims(homes ...Home) {
	var commands []core.TryAcquire
	for i := range 10 * len(homes) {
		commands = append(commands, f.newClaim(f.startMember(fmt.Sprintf("m%d", i)), key))
	}
	results := make([]claimResult, len(commands))
	var wait sync.WaitGroup
	for i, c := range commands {
		wait.Go(func() {
			l, err := homes[i%len(homes)].Lock.TryAcquire(f.ctx, c)
			results[i] = claimResult{l, err}
		})
	}
	wait.Wait()
	winner := f.onlyWinner(commands, results)
	for _, r := range results {
		if r.err != nil {
			f.checkHeld(r.lease, r.err, winner)
		}
	}
}

// claimResult is what became of a claim.
type claimResult struct {
	lease core.Lease
	err   error
}

// claimAndFree claims the key once; if that is granted it stores, and gives all back.
func (f *fixture) claimAndFree(home Home, book *ledger, owner placement.Owner, k placement.Key, id placement.RequestID) {
	l, err := home.Lock.TryAcquire(f.ctx, core.TryAcquire{RequestID: id, Key: k, Owner: owner, Address: addressOf(owner), Now: f.now})
	if err != nil {
		book.check(errors.Is(err, placement.ErrHeld), "the claim of %s: %v", owner, err)
		return
	}
	book.noteGrant(l)
	runtime.Gosched() // let others claim, even where the home is fast
	err = home.Storage.Store(f.ctx, l, f.newEntry(l))
	book.check(err == nil, "storing by %s: %v", owner, err)
	e, err := home.Storage.Load(f.ctx, k)
	book.check(err == nil && e != nil && e.Epoch == l.Epoch, "%s has loaded %+v, %v in epoch %d", owner, e, err, l.Epoch)
	if l.Kept {
		book.noteReturn(l)
	}
	err = home.Storage.Remove(f.ctx, k, owner, l.Epoch)
	book.check(err == nil, "removal by %s: %v", owner, err)
	if !l.Kept {
		book.noteReturn(l)
		err = home.Lock.Release(f.ctx, l)
		book.check(err == nil, "release by %s: %v", owner, err)
	}
}

func (f *fixture) checkTakeover(l core.Lease, found *core.ActivationEntry, stored error, e core.ActivationEntry) {
	f.Helper()
	if stored == nil {
		f.checkSame(found, &e)
	} else {
		f.checkStaleStorage("a store that came late", "store", stored)
		f.checkStored(l.Key, nil)
	}
	f.checkStaleStorage("a store after the takeover", "store", f.Storage.Store(f.ctx, core.Lease{Key: l.Key, Owner: e.Owner, Epoch: e.Epoch, ExpiresAt: l.ExpiresAt}, e))
}

// refuseTooLarge stores the entry with a snapshot of one more byte.
func (f *fixture) refuseTooLarge(l core.Lease, e core.ActivationEntry, want *core.ActivationEntry) {
	f.Helper()
	e.Record.Snapshot = append(bytes.Clone(e.Record.Snapshot), 'x')
	err := f.Storage.Store(f.ctx, l, e)
	var storageErr *core.StorageError
	if !errors.As(err, &storageErr) || !errors.Is(err, placement.ErrTooLarge) {
		f.Fatalf("a snapshot of %d bytes: got %v, want a StorageError that is an ErrTooLarge", len(e.Record.Snapshot), err)
	}
	f.checkStored(l.Key, want)
}

// checkSameLease checks that a repeated claim got the same lease.
func (f *fixture) checkSameLease(got, want core.Lease) {
	f.Helper()
	if got.Epoch != want.Epoch || got.Owner != want.Owner || got.Request != want.Request || !got.ExpiresAt.Equal(want.ExpiresAt) || got.Kept != want.Kept {
		f.Fatalf("the repeated claim got %+v, want %+v again", got, want)
	}
}

// repeatLost makes a call, loses its answer, and makes it again.
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
func (f *fixture) checkLease(c core.TryAcquire, l core.Lease) {
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

func (f *fixture) checkHeld(l core.Lease, err error, holder core.Lease) {
	f.Helper()
	want := placement.Holder{Owner: holder.Owner, Address: addressOf(holder.Owner), Epoch: holder.Epoch}
	var lockErr *core.LockError
	if !errors.As(err, &lockErr) || !errors.Is(err, placement.ErrHeld) || lockErr.Holder != want || lockErr.Key != holder.Key {
		f.Fatalf("got %+v and %#v (%v), want an ErrHeld with the holder %+v", l, err, err, want)
	}
}

// checkStored checks what the storage has; nil: nothing.
func (f *fixture) checkStored(key placement.Key, want *core.ActivationEntry) {
	f.Helper()
	got, err := f.Storage.Load(f.ctx, key)
	if err != nil {
		f.Fatalf("loading %s: %v", key, err)
	}
	f.checkSame(got, want)
}

func (f *fixture) checkSame(got, want *core.ActivationEntry) {
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
func (f *fixture) foundEntry(l core.Lease) *core.ActivationEntry {
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
	var lockErr *core.LockError
	if !errors.As(err, &lockErr) || !errors.Is(err, placement.ErrStale) {
		f.Fatalf("%s: got %v, want a LockError that is an ErrStale", what, err)
	}
}

// checkStaleStorage checks an error of a storage that is an ErrStale.
func (f *fixture) checkStaleStorage(what, op string, err error) {
	f.Helper()
	var storageErr *core.StorageError
	if !errors.As(err, &storageErr) || !errors.Is(err, placement.ErrStale) || storageErr.Op != op {
		f.Fatalf("%s: got %v, want a StorageError of %s that is an ErrStale", what, err, op)
	}
}

func (f *fixture) checkEndedLock(what string, err error) {
	f.Helper()
	lockErr := (*core.LockError)(nil)
	if !errors.As(err, &lockErr) || !errors.Is(err, context.Canceled) || !errors.Is(err, placement.ErrUnavailable) {
		f.Errorf("%s with an ended context: got %v, want a LockError that is an ErrUnavailable and context.Canceled", what, err)
	}
}

func (f *fixture) checkEndedStorage(op string, err error) {
	f.Helper()
	storageErr := (*core.StorageError)(nil)
	if !errors.As(err, &storageErr) || !errors.Is(err, context.Canceled) || !errors.Is(err, placement.ErrUnavailable) || storageErr.Op != op {
		f.Errorf("%s with an ended context: got %v, want a StorageError that is an ErrUnavailable and context.Canceled", op, err)
	}
}

// onlyWinner returns the only lease.
func (f *fixture) onlyWinner(commands []core.TryAcquire, results []claimResult) core.Lease {
	f.Helper()
	var leases []core.Lease
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
func (f *fixture) refuseForged(owner placement.Owner, epoch int64, want *core.ActivationEntry) {
	f.Helper()
	forged := core.Lease{Key: key, Owner: owner, Request: 99, Epoch: epoch}
	if f.TTL > 0 {
		forged.ExpiresAt = f.now.Add(f.TTL)
	}
	f.checkStaleStorage("storing under a forged lease", "store", f.Storage.Store(f.ctx, forged, f.newEntry(forged)))
	f.checkStored(key, want)
}
