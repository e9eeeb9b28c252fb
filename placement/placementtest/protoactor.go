// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

func testOneOfMany(f *fixture) { f.race(f.Home) }

func testOneOfManyProcesses(f *fixture) {
	f.race(f.Home, *f.Second)
}

// testActivatedIsFound checks that a member that claims an activated key learns of the
// activation: by a refusal, or by the entry.
func testActivatedIsFound(f *fixture) {
	a, b := f.member("a"), f.member("b")
	l := f.claim(a, key)
	e := f.confirm(l)
	f.stored(key, &e)
	if l.Kept {
		f.refused(b, key, l)
	} else {
		f.same(f.found(f.claim(b, key)), &e)
	}
	f.stored(key, &e)
}

func testReleased(f *fixture) {
	a, b := f.member("a"), f.member("b")
	first := f.claim(a, key)
	f.refused(b, key, first)
	f.release(first)
	f.claim(b, key)
}

func testStored(f *fixture) {
	e := f.activate(f.member("a"), key)
	f.stored(key, &e)
}

// testForgedLeaseOverEntry stores under leases that were never granted.
func testForgedLeaseOverEntry(f *fixture) {
	a, b := f.member("a"), f.member("b")
	e := f.activate(a, key)
	f.refuseForged(b, e.Epoch, &e)
	f.refuseForged(b, e.Epoch+1, &e)
	f.refuseForged(a, e.Epoch+1, &e)
}

func testForgedLease(f *fixture) {
	f.refuseForged(f.member("a"), 1, nil)
	f.refuseForged(f.member("a"), 0, nil)
}

func testRemoved(f *fixture) {
	a := f.member("a")
	e := f.activate(a, key)
	f.stored(key, &e)
	f.remove(key, a, e.Epoch)
	f.stored(key, nil)
}

// testRemoveOthers removes what it does not know.
func testRemoveOthers(f *fixture) {
	a, b := f.member("a"), f.member("b")
	e := f.activate(a, key)
	f.staleStorage("removal by another", "remove", f.Storage.Remove(f.ctx, key, b, e.Epoch))
	f.staleStorage("removal by another incarnation", "remove", f.Storage.Remove(f.ctx, key, placement.Owner{Name: a.Name, Incarnation: a.Incarnation + 1}, e.Epoch))
	f.staleStorage("removal of another epoch", "remove", f.Storage.Remove(f.ctx, key, a, e.Epoch+1))
	f.stored(key, &e)
}

// testDeadMember checks that a dead member blocks no key: the next owner finds
// what it left, and replaces it.
func testDeadMember(f *fixture) {
	a, b := f.member("a"), f.member("b")
	old := f.activate(a, key)
	f.die(a)
	l := f.claim(b, key)
	f.same(f.found(l), &old)
	e := f.confirm(l)
	f.stored(key, &e)
}

// testDeadPredecessor checks that the death of a member takes nothing from the
// next owner.
func testDeadPredecessor(f *fixture) {
	a, b := f.member("a"), f.member("b")
	old := f.activate(a, key)
	f.remove(key, a, old.Epoch)
	e := f.activate(b, key)
	f.die(a)
	f.stored(key, &e)
	f.staleStorage("a late removal", "remove", f.Storage.Remove(f.ctx, key, a, old.Epoch))
	f.stored(key, &e)
}

func testDeadMemberOfMany(f *fixture) {
	const keys = 200
	a, b := f.member("a"), f.member("b")
	at := func(i int) placement.Key { return placement.Key{Kind: "thing", ID: fmt.Sprint(i)} }
	for i := range keys {
		f.activate(a, at(i))
	}
	f.die(a)
	for i := range keys {
		e := f.activate(b, at(i))
		f.stored(at(i), &e)
	}
}

// testLoserIsToldWinner checks that a loser can find the activation that it has to
// wait for: it is told the holder, and the entry appears once that has stored it.
func testLoserIsToldWinner(f *fixture) {
	a, b := f.member("a"), f.member("b")
	l := f.claim(a, key)
	f.refused(b, key, l)
	f.stored(key, nil)
	e := f.confirm(l)
	f.stored(key, &e)
}

// testStaleLock claims what a dead owner has claimed and never stored.
func testStaleLock(f *fixture) {
	a, b := f.member("a"), f.member("b")
	old := f.claim(a, key)
	f.refused(b, key, old)
	f.die(a)
	l := f.claim(b, key)
	if e := f.found(l); e != nil {
		f.Errorf("found %+v, which was not stored", e)
	}
	if l.Epoch <= old.Epoch {
		f.Errorf("epoch %d after %d", l.Epoch, old.Epoch)
	}
}
