// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
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
