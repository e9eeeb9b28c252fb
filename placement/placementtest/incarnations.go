// SPDX-License-Identifier: Apache-2.0

package placementtest

import "github.com/kazahana-db/kazahana/placement"

// testLapsed checks the end of a lease by the clock, to the nanosecond.
func testLapsed(f *fixture) {
	a, b := f.member("a"), f.member("b")
	l := f.claim(a, key)
	f.now = l.ExpiresAt.Add(-1)
	f.refused(b, key, l)
	e := f.entry(l)
	f.store(l, e)
	f.now = l.ExpiresAt
	f.staleStorage("storing at the end of the lease", "store", f.Storage.Store(f.ctx, l, f.entry(l)))
	f.stored(key, &e)
	f.claim(b, key)
}

// testReleaseKeeps checks that a claim that comes to nothing loses nothing: the
// entry that was there before stays for the next.
func testReleaseKeeps(f *fixture) {
	a, b := f.member("a"), f.member("b")
	e := f.activate(a, key)
	f.die(a)
	l := f.claim(b, key)
	f.release(l)
	f.stored(key, &e)
	f.same(f.found(f.claim(f.member("c"), key)), &e)
}

// testIncarnations checks that an owner is a run of a member, not a name.
func testIncarnations(f *fixture) {
	first := f.member("a")
	old := f.activate(first, key)
	f.die(first)
	second := f.member("a")
	if second.Incarnation <= first.Incarnation {
		f.Fatalf("incarnation %d follows %d", second.Incarnation, first.Incarnation)
	}
	l := f.claim(second, key)
	f.same(f.found(l), &old)
	e := f.entry(l)
	f.store(l, e)
	if got, err := f.Lock.TryAcquire(f.ctx, f.command(first, key)); err == nil {
		f.Errorf("the earlier incarnation was granted %+v", got)
	}
	f.staleStorage("removal by the earlier incarnation", "remove", f.Storage.Remove(f.ctx, key, first, l.Epoch))
	forged := l
	forged.Owner = first
	f.staleStorage("storing by the earlier incarnation", "store", f.Storage.Store(f.ctx, forged, f.entry(forged)))
	f.staleLock("releasing by the earlier incarnation", f.Lock.Release(f.ctx, forged))
	f.stored(key, &e)
}

// testDeadClaimant checks that an owner whom the home takes for dead is granted
// nothing: others would not see that it lives.
func testDeadClaimant(f *fixture) {
	a := f.member("a")
	f.activate(a, placement.Key{Kind: "thing", ID: "2"})
	f.die(a)
	_, err := f.Lock.TryAcquire(f.ctx, f.command(a, key))
	f.staleLock("a claim of a dead owner", err)
	f.claim(f.member("b"), key)
}

// testLeave checks that what a member has left behind can be claimed once it has
// left cleanly, whether it has removed it or not.
func testLeave(f *fixture) {
	a, b := f.member("a"), f.member("b")
	removed, left := placement.Key{Kind: "thing", ID: "removed"}, placement.Key{Kind: "thing", ID: "left"}
	e := f.activate(a, removed)
	f.remove(removed, a, e.Epoch)
	f.claim(a, left)
	f.leave(a)
	f.claim(b, removed)
	f.claim(b, left)
	if f.Kill != nil {
		_, err := f.Lock.TryAcquire(f.ctx, f.command(a, placement.Key{Kind: "thing", ID: "new"}))
		f.staleLock("a claim of an owner that has left", err)
	}
}
