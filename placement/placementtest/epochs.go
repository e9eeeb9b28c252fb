// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"errors"

	"github.com/kazahana-db/kazahana/placement"
)

// testEpochs checks that the epoch of each claim is greater than all before, with
// all that can lie between two claims.
func testEpochs(f *fixture) {
	a, b := f.member("a"), f.member("b")
	last := int64(0)
	grows := func(after string, l placement.Lease) placement.Lease {
		f.Helper()
		if l.Epoch <= last {
			f.Fatalf("after %s: epoch %d follows %d", after, l.Epoch, last)
		}
		last = l.Epoch
		return l
	}
	f.release(grows("nothing", f.claim(a, key)))
	f.release(grows("a release", f.claim(b, key)))
	e := f.confirm(grows("another's release", f.claim(a, key)))
	f.remove(key, a, e.Epoch)
	e = f.confirm(grows("a removal", f.claim(b, key)))
	f.remove(key, b, e.Epoch)
	f.confirm(grows("another's removal", f.claim(a, key)))
	f.confirm(grows("a claim of the same owner", f.claim(a, key)))
	f.die(a)
	f.confirm(grows("a death", f.claim(b, key)))
	f.die(b)
	again := f.member("a")
	e = f.confirm(grows("a restart", f.claim(again, key)))
	f.remove(key, again, e.Epoch)
	f.leave(again)
	grows("a clean leave", f.claim(f.member("c"), key))
}

// testNewEpochEndsOld checks that a new claim of an owner ends its earlier lease.
func testNewEpochEndsOld(f *fixture) {
	a := f.member("a")
	first := f.claim(a, key)
	second := f.claim(a, key)
	if second.Epoch <= first.Epoch {
		f.Fatalf("epoch %d follows %d", second.Epoch, first.Epoch)
	}
	f.staleStorage("storing under the earlier lease", "store", f.Storage.Store(f.ctx, first, f.entry(first)))
	f.staleLock("releasing the earlier lease", f.Lock.Release(f.ctx, first))
	f.refused(f.member("b"), key, second)
	e := f.entry(second)
	f.store(second, e)
	f.stored(key, &e)
}

// testLateClaim claims by a request that is older than the one by which its owner has the
// key: a command that was delayed. It must not end the later lease.
func testLateClaim(f *fixture) {
	a := f.member("a")
	late := f.command(a, key)
	l := f.claim(a, key)
	_, err := f.Lock.TryAcquire(f.ctx, late)
	f.staleLock("a claim that comes after a later one of its owner", err)
	e := f.entry(l)
	f.store(l, e)
	_, err = f.Lock.TryAcquire(f.ctx, late)
	f.staleLock("the late claim again", err)
	f.stored(key, &e)
	f.remove(key, a, l.Epoch)
}

// testRepeatedClaim repeats a claim whose answer was lost: before the store, after
// it, and after another claim has taken its place.
func testRepeatedClaim(f *fixture) {
	a, b := f.member("a"), f.member("b")
	c := f.command(a, key)
	l := f.granted(c)
	f.sameLease(f.granted(c), l)
	f.refused(b, key, l)
	e := f.entry(l)
	f.store(l, e)
	f.sameLease(f.granted(c), l)
	f.stored(key, &e)
	other := c
	other.Owner = b // the same request id of another owner is another request
	other.Address = addressOf(b)
	got, err := f.Lock.TryAcquire(f.ctx, other)
	f.checkHeld(got, err, l)
}

// sameLease checks that a repeated claim got the same lease.
func (f *fixture) sameLease(got, want placement.Lease) {
	f.Helper()
	if got.Epoch != want.Epoch || got.Owner != want.Owner || got.Request != want.Request || !got.ExpiresAt.Equal(want.ExpiresAt) || got.Kept != want.Kept {
		f.Fatalf("the repeated claim got %+v, want %+v again", got, want)
	}
}

// testRepeatedStore stores twice, as after a lost answer, and then something newer.
func testRepeatedStore(f *fixture) {
	l := f.claim(f.member("a"), key)
	e := f.entry(l)
	f.store(l, e)
	f.store(l, e)
	f.stored(key, &e)
	e.Record.Version, e.Record.Snapshot = 99, []byte("newer")
	f.store(l, e)
	f.stored(key, &e)
}

func testRepeatedRelease(f *fixture) {
	a, b := f.member("a"), f.member("b")
	l := f.claim(a, key)
	f.release(l)
	f.release(l)
	next := f.claim(b, key)
	f.staleLock("a third release, after another's claim", f.Lock.Release(f.ctx, l))
	f.refused(a, key, next)
}

func testRepeatedRemoval(f *fixture) {
	a := f.member("a")
	e := f.activate(a, key)
	f.remove(key, a, e.Epoch)
	f.remove(key, a, e.Epoch)
	f.stored(key, nil)
	f.activate(f.member("b"), key)
}

// testUnknownOutcome loses the answers of claim, store, release and removal, with
// and without the deed, and repeats each call.
func testUnknownOutcome(f *fixture) {
	for _, executed := range []bool{true, false} {
		a := f.member("a")
		c := f.command(a, key)
		var l placement.Lease
		f.twice(executed, func() (err error) { l, err = f.Lock.TryAcquire(f.ctx, c); return err })
		f.checkLease(c, l)
		e := f.entry(l)
		f.twice(executed, func() error { return f.Storage.Store(f.ctx, l, e) })
		f.stored(key, &e)
		if !l.Kept {
			f.twice(executed, func() error { return f.Lock.Release(f.ctx, l) })
		}
		f.twice(executed, func() error { return f.Storage.Remove(f.ctx, key, a, l.Epoch) })
		f.stored(key, nil)
		f.release(f.claim(f.member("b"), key))
	}
}

// twice makes a call whose answer is lost, and makes it again.
func (f *fixture) twice(executed bool, call func() error) {
	f.Helper()
	f.Lose(executed)
	if err := call(); !errors.Is(err, placement.ErrUnavailable) {
		f.Fatalf("the answer is lost: got %v, want an ErrUnavailable", err)
	}
	if err := call(); err != nil {
		f.Fatalf("repeated after a lost answer (executed: %v): %v", executed, err)
	}
}

// testStaleConfirm stores under a lease that another owner has taken over, before
// and after that one's store.
func testStaleConfirm(f *fixture) {
	a, b := f.member("a"), f.member("b")
	old := f.claim(a, key)
	late := f.entry(old)
	f.die(a)
	l := f.claim(b, key)
	f.staleStorage("a late store", "store", f.Storage.Store(f.ctx, old, late))
	f.stored(key, nil)
	e := f.confirm(l)
	f.staleStorage("a later store", "store", f.Storage.Store(f.ctx, old, late))
	f.stored(key, &e)
	f.remove(key, b, e.Epoch)
	f.staleStorage("a store after the other's removal", "store", f.Storage.Store(f.ctx, old, late))
	f.stored(key, nil)
}

// testStaleRelease releases a lease that another owner has taken over.
func testStaleRelease(f *fixture) {
	a, b := f.member("a"), f.member("b")
	old := f.claim(a, key)
	f.die(a)
	l := f.claim(b, key)
	f.staleLock("a late release", f.Lock.Release(f.ctx, old))
	f.refused(f.member("c"), key, l)
	e := f.entry(l)
	f.store(l, e)
	f.staleLock("a later release", f.Lock.Release(f.ctx, old))
	f.stored(key, &e)
}

// testStaleRemoval removes what another owner has taken over: that one's claim
// stays, and its entry can be stored.
func testStaleRemoval(f *fixture) {
	a, b := f.member("a"), f.member("b")
	old := f.activate(a, key)
	f.die(a)
	l := f.claim(b, key)
	if err := f.Storage.Remove(f.ctx, key, a, old.Epoch); err != nil { // the entry may still be that of a
		f.staleStorage("a late removal", "remove", err)
	}
	f.refused(f.member("c"), key, l)
	e := f.entry(l)
	f.store(l, e)
	f.staleStorage("a later removal", "remove", f.Storage.Remove(f.ctx, key, a, old.Epoch))
	f.stored(key, &e)
}

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
