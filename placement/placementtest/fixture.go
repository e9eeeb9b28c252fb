// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

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
func (f *fixture) newClaim(owner placement.Owner, key placement.Key) placement.TryAcquire {
	f.request++
	return placement.TryAcquire{
		RequestID: f.request, Key: key, Owner: owner, Address: addressOf(owner), Topology: 7, Now: f.now,
	}
}

func addressOf(owner placement.Owner) string { return owner.Name + ":4000" }

// mustClaim makes a new claim, which has to be granted.
func (f *fixture) mustClaim(owner placement.Owner, key placement.Key) placement.Lease {
	f.Helper()
	return f.mustAcquire(f.newClaim(owner, key))
}

// mustAcquire executes a claim, which has to be granted.
func (f *fixture) mustAcquire(c placement.TryAcquire) placement.Lease {
	f.Helper()
	l, err := f.Lock.TryAcquire(f.ctx, c)
	if err != nil {
		f.Fatalf("the claim of %s on %s: %v", c.Owner, c.Key, err)
	}
	f.checkLease(c, l)
	return l
}

// mustBeHeld makes a new claim, which has to be refused because of the holder.
func (f *fixture) mustBeHeld(owner placement.Owner, key placement.Key, holder placement.Lease) {
	f.Helper()
	l, err := f.Lock.TryAcquire(f.ctx, f.newClaim(owner, key))
	f.checkHeld(l, err, holder)
}

// newEntry is one of the lease.
func (f *fixture) newEntry(l placement.Lease) placement.ActivationEntry {
	pid := fmt.Sprintf("%s/%s$%d", l.Owner.Name, l.Key, l.Epoch)
	return placement.ActivationEntry{
		Owner: l.Owner, Address: addressOf(l.Owner), Epoch: l.Epoch, Topology: 7, ObservedAt: f.now,
		Record: placement.ActivationRecord{PID: pid, Snapshot: []byte("of " + pid), Version: uint64(l.Epoch)},
	}
}

// mustConfirm stores an entry of the lease, and releases what is not Kept, as a
// coordinator does.
func (f *fixture) mustConfirm(l placement.Lease) placement.ActivationEntry {
	f.Helper()
	e := f.newEntry(l)
	f.mustStore(l, e)
	if !l.Kept {
		f.mustRelease(l)
	}
	return e
}

// mustActivate claims and confirms.
func (f *fixture) mustActivate(owner placement.Owner, key placement.Key) placement.ActivationEntry {
	f.Helper()
	return f.mustConfirm(f.mustClaim(owner, key))
}

func (f *fixture) mustStore(l placement.Lease, e placement.ActivationEntry) {
	f.Helper()
	if err := f.Storage.Store(f.ctx, l, e); err != nil {
		f.Fatalf("storing %+v: %v", e, err)
	}
}

func (f *fixture) mustRelease(l placement.Lease) {
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
	var commands []placement.TryAcquire
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
	lease placement.Lease
	err   error
}

// claimAndFree claims the key once; if that is granted it stores, and gives all back.
func (f *fixture) claimAndFree(home Home, book *ledger, owner placement.Owner, k placement.Key, id placement.RequestID) {
	l, err := home.Lock.TryAcquire(f.ctx, placement.TryAcquire{RequestID: id, Key: k, Owner: owner, Address: addressOf(owner), Now: f.now})
	if err != nil {
		book.check(errors.Is(err, placement.ErrHeld), "the claim of %s: %v", owner, err)
		return
	}
	book.noteGrant(l)
	runtime.Gosched() // let others claim meanwhile, where the home is fast
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
