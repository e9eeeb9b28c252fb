// SPDX-License-Identifier: Apache-2.0

package placementtest

import "github.com/kazahana-db/kazahana/placement"

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

// testLeave checks that what a member has left behind can be claimed once it has
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
