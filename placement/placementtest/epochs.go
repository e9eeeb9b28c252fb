// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"github.com/kazahana-db/kazahana/placement"
)

// testEpochs checks that the epoch of each claim is greater than all before, with
// all that can lie between two claims.
func testEpochs(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	last := int64(0)
	grows := func(after string, l placement.Lease) placement.Lease {
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
