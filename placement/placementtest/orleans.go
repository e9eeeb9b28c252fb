// SPDX-License-Identifier: Apache-2.0

package placementtest

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
