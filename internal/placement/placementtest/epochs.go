// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// testEpochs checks that the epoch of each claim is greater than all before, with
// all that can lie between two claims.
func testEpochs(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	last := int64(0)
	grows := func(after string, l core.Lease) core.Lease {
		f.Helper()
		if l.Epoch <= last {
			f.Fatalf("after %s: epoch %d follows %d", after, l.Epoch, last)
		}
		last = l.Epoch
		return l
	}
	f.mustRelease(grows("nothing", f.mustClaim(a, key)))
	f.mustRelease(grows("a release", f.mustClaim(b, key)))
	e := f.mustConfirm(grows("another's release", f.mustClaim(a, key)))
	f.mustRemove(key, a, e.Epoch)
	e = f.mustConfirm(grows("a removal", f.mustClaim(b, key)))
	f.mustRemove(key, b, e.Epoch)
	f.mustConfirm(grows("another's removal", f.mustClaim(a, key)))
	f.mustConfirm(grows("a claim of the same owner", f.mustClaim(a, key)))
	f.killMember(a)
	f.mustConfirm(grows("a death", f.mustClaim(b, key)))
	f.killMember(b)
	again := f.startMember("a")
	e = f.mustConfirm(grows("a restart", f.mustClaim(again, key)))
	f.mustRemove(key, again, e.Epoch)
	f.leaveCluster(again)
	grows("a clean leave", f.mustClaim(f.startMember("c"), key))
}

// testNewEpochEndsOld checks that a new claim of an owner ends its earlier lease.
func testNewEpochEndsOld(f *fixture) {
	a := f.startMember("a")
	first := f.mustClaim(a, key)
	second := f.mustClaim(a, key)
	if second.Epoch <= first.Epoch {
		f.Fatalf("epoch %d follows %d", second.Epoch, first.Epoch)
	}
	f.checkStaleStorage("storing under the earlier lease", "store", f.Storage.Store(f.ctx, first, f.newEntry(first)))
	f.checkStaleLock("releasing the earlier lease", f.Lock.Release(f.ctx, first))
	f.mustBeHeld(f.startMember("b"), key, second)
	e := f.newEntry(second)
	f.mustStore(second, e)
	f.checkStored(key, &e)
}

// testLateClaim claims by a request that is older than the one by which its owner has the
// key: a command that was delayed. It must not end the later lease.
func testLateClaim(f *fixture) {
	a := f.startMember("a")
	late := f.newClaim(a, key)
	l := f.mustClaim(a, key)
	_, err := f.Lock.TryAcquire(f.ctx, late)
	f.checkStaleLock("a claim that comes after a later one of its owner", err)
	e := f.newEntry(l)
	f.mustStore(l, e)
	_, err = f.Lock.TryAcquire(f.ctx, late)
	f.checkStaleLock("the late claim again", err)
	f.checkStored(key, &e)
	f.mustRemove(key, a, l.Epoch)
}

// testStaleConfirm stores under a lease that another owner has taken over, before
// and after that one's store.
func testStaleConfirm(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	old := f.mustClaim(a, key)
	late := f.newEntry(old)
	f.killMember(a)
	l := f.mustClaim(b, key)
	f.checkStaleStorage("a late store", "store", f.Storage.Store(f.ctx, old, late))
	f.checkStored(key, nil)
	e := f.mustConfirm(l)
	f.checkStaleStorage("a later store", "store", f.Storage.Store(f.ctx, old, late))
	f.checkStored(key, &e)
	f.mustRemove(key, b, e.Epoch)
	f.checkStaleStorage("a store after the other's removal", "store", f.Storage.Store(f.ctx, old, late))
	f.checkStored(key, nil)
}

// testStaleRelease releases a lease that another owner has taken over.
func testStaleRelease(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	old := f.mustClaim(a, key)
	f.killMember(a)
	l := f.mustClaim(b, key)
	f.checkStaleLock("a late release", f.Lock.Release(f.ctx, old))
	f.mustBeHeld(f.startMember("c"), key, l)
	e := f.newEntry(l)
	f.mustStore(l, e)
	f.checkStaleLock("a later release", f.Lock.Release(f.ctx, old))
	f.checkStored(key, &e)
}

// testStaleRemoval removes what another owner has taken over: that one's claim
// stays, and its entry can be stored.
func testStaleRemoval(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	old := f.mustActivate(a, key)
	f.killMember(a)
	l := f.mustClaim(b, key)
	if err := f.Storage.Remove(f.ctx, key, a, old.Epoch); err != nil { // the entry may still be that of a
		f.checkStaleStorage("a late removal", "remove", err)
	}
	f.mustBeHeld(f.startMember("c"), key, l)
	e := f.newEntry(l)
	f.mustStore(l, e)
	f.checkStaleStorage("a later removal", "remove", f.Storage.Remove(f.ctx, key, a, old.Epoch))
	f.checkStored(key, &e)
}

// testLapsed checks the end of a lease by the clock, to the nanosecond.
func testLapsed(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	f.now = l.ExpiresAt.Add(-1)
	f.mustBeHeld(b, key, l)
	e := f.newEntry(l)
	f.mustStore(l, e)
	f.now = l.ExpiresAt
	f.checkStaleStorage("storing at the end of the lease", "store", f.Storage.Store(f.ctx, l, f.newEntry(l)))
	f.checkStored(key, &e)
	f.mustClaim(b, key)
}

// testReleaseKeeps checks that a claim that comes to nothing loses nothing: the
// entry that was there before stays for the next.
func testReleaseKeeps(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	e := f.mustActivate(a, key)
	f.killMember(a)
	l := f.mustClaim(b, key)
	f.mustRelease(l)
	f.checkStored(key, &e)
	f.checkSame(f.foundEntry(f.mustClaim(f.startMember("c"), key)), &e)
}

// testIncarnations checks that an owner is a run of a member, not a name.
func testIncarnations(f *fixture) {
	first := f.startMember("a")
	old := f.mustActivate(first, key)
	f.killMember(first)
	second := f.startMember("a")
	if second.Incarnation <= first.Incarnation {
		f.Fatalf("incarnation %d follows %d", second.Incarnation, first.Incarnation)
	}
	l := f.mustClaim(second, key)
	f.checkSame(f.foundEntry(l), &old)
	e := f.newEntry(l)
	f.mustStore(l, e)
	if got, err := f.Lock.TryAcquire(f.ctx, f.newClaim(first, key)); err == nil {
		f.Errorf("the earlier incarnation was granted %+v", got)
	}
	f.checkStaleStorage("removal by the earlier incarnation", "remove", f.Storage.Remove(f.ctx, key, first, l.Epoch))
	forged := l
	forged.Owner = first
	f.checkStaleStorage("storing by the earlier incarnation", "store", f.Storage.Store(f.ctx, forged, f.newEntry(forged)))
	f.checkStaleLock("releasing by the earlier incarnation", f.Lock.Release(f.ctx, forged))
	f.checkStored(key, &e)
}

// testDeadClaimant checks that an owner that the home takes for dead is granted nothing: others
// would not see that it lives.
func testDeadClaimant(f *fixture) {
	a := f.startMember("a")
	f.mustActivate(a, placement.Key{Kind: "thing", ID: "2"})
	f.killMember(a)
	_, err := f.Lock.TryAcquire(f.ctx, f.newClaim(a, key))
	f.checkStaleLock("a claim of a dead owner", err)
	f.mustClaim(f.startMember("b"), key)
}

// testLeave checks that the keys of a member can be claimed once it has
// left cleanly, whether it has removed it or not.
func testLeave(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	removed, left := placement.Key{Kind: "thing", ID: "removed"}, placement.Key{Kind: "thing", ID: "left"}
	e := f.mustActivate(a, removed)
	f.mustRemove(removed, a, e.Epoch)
	f.mustClaim(a, left)
	f.leaveCluster(a)
	f.mustClaim(b, removed)
	f.mustClaim(b, left)
	if f.Kill != nil {
		_, err := f.Lock.TryAcquire(f.ctx, f.newClaim(a, placement.Key{Kind: "thing", ID: "new"}))
		f.checkStaleLock("a claim of an owner that has left", err)
	}
}

// testConcurrentRepeats repeats one claim at once: all get one lease.
func testConcurrentRepeats(f *fixture) {
	c := f.newClaim(f.startMember("a"), key)
	leases := make([]claimResult, 16)
	var wait sync.WaitGroup
	for i := range leases {
		wait.Go(func() {
			l, err := f.Lock.TryAcquire(f.ctx, c)
			leases[i] = claimResult{l, err}
		})
	}
	wait.Wait()
	for _, got := range leases {
		if got.err != nil {
			f.Fatal(got.err)
		}
		f.checkSameLease(got.lease, leases[0].lease)
	}
}

// testRepeatedClaim repeats a claim after its answer was lost: before the store, after
// it, and after another claim has taken its place.
func testRepeatedClaim(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	c := f.newClaim(a, key)
	l := f.mustAcquire(c)
	f.checkSameLease(f.mustAcquire(c), l)
	f.mustBeHeld(b, key, l)
	e := f.newEntry(l)
	f.mustStore(l, e)
	f.checkSameLease(f.mustAcquire(c), l)
	f.checkStored(key, &e)
	other := c
	other.Owner = b // the same request id of another owner is another request
	other.Address = addressOf(b)
	got, err := f.Lock.TryAcquire(f.ctx, other)
	f.checkHeld(got, err, l)
}

// testRepeatedStore stores twice, as after a lost answer, and then something newer.
func testRepeatedStore(f *fixture) {
	l := f.mustClaim(f.startMember("a"), key)
	e := f.newEntry(l)
	f.mustStore(l, e)
	f.mustStore(l, e)
	f.checkStored(key, &e)
	e.Record.Version, e.Record.Snapshot = 99, []byte("newer")
	f.mustStore(l, e)
	f.checkStored(key, &e)
}

func testRepeatedRelease(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	f.mustRelease(l)
	f.mustRelease(l)
	next := f.mustClaim(b, key)
	f.checkStaleLock("a third release, after another's claim", f.Lock.Release(f.ctx, l))
	f.mustBeHeld(a, key, next)
}

func testRepeatedRemoval(f *fixture) {
	a := f.startMember("a")
	e := f.mustActivate(a, key)
	f.mustRemove(key, a, e.Epoch)
	f.mustRemove(key, a, e.Epoch)
	f.checkStored(key, nil)
	f.mustActivate(f.startMember("b"), key)
}

// testUnknownOutcome loses the answers of claim, store, release and removal, with
// and without the deed, and repeats each call.
func testUnknownOutcome(f *fixture) {
	for _, executed := range []bool{true, false} {
		a := f.startMember("a")
		c := f.newClaim(a, key)
		var l core.Lease
		f.repeatLost(executed, func() (err error) { l, err = f.Lock.TryAcquire(f.ctx, c); return err })
		f.checkLease(c, l)
		e := f.newEntry(l)
		f.repeatLost(executed, func() error { return f.Storage.Store(f.ctx, l, e) })
		f.checkStored(key, &e)
		if !l.Kept {
			f.repeatLost(executed, func() error { return f.Lock.Release(f.ctx, l) })
		}
		f.repeatLost(executed, func() error { return f.Storage.Remove(f.ctx, key, a, l.Epoch) })
		f.checkStored(key, nil)
		f.mustRelease(f.mustClaim(f.startMember("b"), key))
	}
}

// testConcurrentOwners lets eight members claim, store and give back three keys,
// each as fast as it can: no two have one at once, and epochs follow the order in
// which they had it.
func testConcurrentOwners(f *fixture) {
	const members, rounds = 8, 30
	book := &ledger{holders: map[placement.Key]core.Lease{}, last: map[placement.Key]int64{}}
	var wait sync.WaitGroup
	for i := range members {
		owner := f.startMember(fmt.Sprintf("m%d", i))
		home := f.Home
		if f.Second != nil && i%2 == 1 {
			home = *f.Second
		}
		wait.Go(func() {
			for round := range rounds {
				k := placement.Key{Kind: "thing", ID: fmt.Sprint((i + round) % 3)}
				f.claimAndFree(home, book, owner, k, placement.RequestID(round+1))
			}
		})
	}
	wait.Wait()
	for _, fault := range book.faults {
		f.Error(fault)
	}
	if book.granted < members { // where a home is slow, most claims meet a holder
		f.Errorf("only %d claims were granted", book.granted)
	}
}

// testConcurrentTakeover lets a store race with the takeover of its lease: either
// the new owner finds what was stored, or the store is refused.
func testConcurrentTakeover(f *fixture) {
	for round := range 25 {
		k := placement.Key{Kind: "thing", ID: fmt.Sprint(round)}
		a, b := f.startMember(fmt.Sprintf("a%d", round)), f.startMember(fmt.Sprintf("b%d", round))
		old := f.mustClaim(a, k)
		e := f.newEntry(old)
		f.killMember(a)
		c := f.newClaim(b, k)
		var stored error
		var wait sync.WaitGroup
		wait.Go(func() { stored = f.Storage.Store(f.ctx, old, e) })
		l := f.mustAcquire(c)
		found := f.foundEntry(l)
		wait.Wait()
		f.checkTakeover(l, found, stored, e)
	}
}
