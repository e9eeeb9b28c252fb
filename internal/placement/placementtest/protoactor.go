// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

func testOneOfMany(f *fixture) { f.raceClaims(f.Home) }

func testOneOfManyProcesses(f *fixture) {
	f.raceClaims(f.Home, *f.Second)
}

// testActivatedIsFound checks that a member that claims an activated key learns of the
// activation: by a refusal, or by the entry.
func testActivatedIsFound(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	e := f.mustConfirm(l)
	f.checkStored(key, &e)
	if l.Kept {
		f.mustBeHeld(b, key, l)
	} else {
		f.checkSame(f.foundEntry(f.mustClaim(b, key)), &e)
	}
	f.checkStored(key, &e)
}

func testReleased(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	first := f.mustClaim(a, key)
	f.mustBeHeld(b, key, first)
	f.mustRelease(first)
	f.mustClaim(b, key)
}

func testStored(f *fixture) {
	e := f.mustActivate(f.startMember("a"), key)
	f.checkStored(key, &e)
}

// testForgedLeaseOverEntry stores under leases that were never granted.
func testForgedLeaseOverEntry(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	e := f.mustActivate(a, key)
	f.refuseForged(b, e.Epoch, &e)
	f.refuseForged(b, e.Epoch+1, &e)
	f.refuseForged(a, e.Epoch+1, &e)
}

func testForgedLease(f *fixture) {
	f.refuseForged(f.startMember("a"), 1, nil)
	f.refuseForged(f.startMember("a"), 0, nil)
}

func testRemoved(f *fixture) {
	a := f.startMember("a")
	e := f.mustActivate(a, key)
	f.checkStored(key, &e)
	f.mustRemove(key, a, e.Epoch)
	f.checkStored(key, nil)
}

// testRemoveOthers removes what it does not know.
func testRemoveOthers(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	e := f.mustActivate(a, key)
	f.checkStaleStorage("removal by another", "remove", f.Storage.Remove(f.ctx, key, b, e.Epoch))
	f.checkStaleStorage("removal by another incarnation", "remove", f.Storage.Remove(f.ctx, key, placement.Owner{Name: a.Name, Incarnation: a.Incarnation + 1}, e.Epoch))
	f.checkStaleStorage("removal of another epoch", "remove", f.Storage.Remove(f.ctx, key, a, e.Epoch+1))
	f.checkStored(key, &e)
}

// testDeadMember checks that a dead member blocks no key: the next owner finds
// what it left, and replaces it.
func testDeadMember(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	old := f.mustActivate(a, key)
	f.killMember(a)
	l := f.mustClaim(b, key)
	f.checkSame(f.foundEntry(l), &old)
	e := f.mustConfirm(l)
	f.checkStored(key, &e)
}

// testDeadPredecessor checks that the death of a member takes nothing from the
// next owner.
func testDeadPredecessor(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	old := f.mustActivate(a, key)
	f.mustRemove(key, a, old.Epoch)
	e := f.mustActivate(b, key)
	f.killMember(a)
	f.checkStored(key, &e)
	f.checkStaleStorage("a late removal", "remove", f.Storage.Remove(f.ctx, key, a, old.Epoch))
	f.checkStored(key, &e)
}

func testDeadMemberOfMany(f *fixture) {
	const keys = 200
	a, b := f.startMember("a"), f.startMember("b")
	at := func(i int) placement.Key { return placement.Key{Kind: "thing", ID: fmt.Sprint(i)} }
	for i := range keys {
		f.mustActivate(a, at(i))
	}
	f.killMember(a)
	for i := range keys {
		e := f.mustActivate(b, at(i))
		f.checkStored(at(i), &e)
	}
}

// testLoserIsToldWinner checks that a loser can find the activation that it has to
// wait for: it is told the holder, and the entry appears once that has stored it.
func testLoserIsToldWinner(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	f.mustBeHeld(b, key, l)
	f.checkStored(key, nil)
	e := f.mustConfirm(l)
	f.checkStored(key, &e)
}

// testStaleLock claims what a dead owner has claimed and never stored.
func testStaleLock(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	old := f.mustClaim(a, key)
	f.mustBeHeld(b, key, old)
	f.killMember(a)
	l := f.mustClaim(b, key)
	if e := f.foundEntry(l); e != nil {
		f.Errorf("found %+v, which was not stored", e)
	}
	if l.Epoch <= old.Epoch {
		f.Errorf("epoch %d after %d", l.Epoch, old.Epoch)
	}
}

// testRegister registers, looks up, unregisters and looks up.
func testRegister(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	e := f.mustActivate(a, key)
	f.checkStored(key, &e)
	f.mustRemove(key, a, e.Epoch)
	f.checkStored(key, nil)
	next := f.mustActivate(b, key)
	f.checkStored(key, &next)
}

// testNoOverwrite checks that others, and another activation of the same owner, are
// not stored over one that is there.
func testNoOverwrite(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	l := f.mustClaim(a, key)
	e := f.newEntry(l)
	f.mustStore(l, e)
	f.mustBeHeld(b, key, l)
	f.refuseForged(b, l.Epoch+1, &e)
	f.refuseForged(a, l.Epoch+1, &e)
}

// testOverwriteOwn replaces an entry by one of a newer claim of its owner, and
// then not by one of the older.
func testOverwriteOwn(f *fixture) {
	a, b := f.startMember("a"), f.startMember("b")
	first := f.mustClaim(a, key)
	initial := f.newEntry(first)
	f.mustStore(first, initial)
	second := f.mustClaim(a, key)
	f.checkSame(f.foundEntry(second), &initial)
	next := f.newEntry(second)
	f.mustStore(second, next)
	f.checkStaleStorage("storing under the earlier lease", "store", f.Storage.Store(f.ctx, first, initial))
	f.mustBeHeld(b, key, second)
	f.checkStored(key, &next)
}

// testRemoveOtherEpoch removes an earlier activation of the owner, which is not
// the one that is there.
func testRemoveOtherEpoch(f *fixture) {
	a := f.startMember("a")
	first := f.mustActivate(a, key)
	f.mustRemove(key, a, first.Epoch)
	e := f.mustActivate(a, key)
	f.checkStaleStorage("removing an earlier activation", "remove", f.Storage.Remove(f.ctx, key, a, first.Epoch))
	f.checkStored(key, &e)
}

func testNotFound(f *fixture) {
	f.checkStored(key, nil)
	f.mustClaim(f.startMember("a"), key)
	f.checkStored(key, nil)
}
