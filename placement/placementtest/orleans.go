// SPDX-License-Identifier: Apache-2.0

package placementtest

// testRegister registers, looks up, unregisters and looks up.
func testRegister(f *fixture) {
	a, b := f.member("a"), f.member("b")
	e := f.activate(a, key)
	f.stored(key, &e)
	f.remove(key, a, e.Epoch)
	f.stored(key, nil)
	next := f.activate(b, key)
	f.stored(key, &next)
}

// testNoOverwrite checks that others, and another activation of the same owner, are
// not stored over one that is there.
func testNoOverwrite(f *fixture) {
	a, b := f.member("a"), f.member("b")
	l := f.claim(a, key)
	e := f.entry(l)
	f.store(l, e)
	f.refused(b, key, l)
	f.refuseForged(b, l.Epoch+1, &e)
	f.refuseForged(a, l.Epoch+1, &e)
}

// testOverwriteOwn replaces an entry by one of a newer claim of its owner, and
// then not by one of the older.
func testOverwriteOwn(f *fixture) {
	a, b := f.member("a"), f.member("b")
	first := f.claim(a, key)
	initial := f.entry(first)
	f.store(first, initial)
	second := f.claim(a, key)
	f.same(f.found(second), &initial)
	next := f.entry(second)
	f.store(second, next)
	f.staleStorage("storing under the earlier lease", "store", f.Storage.Store(f.ctx, first, initial))
	f.refused(b, key, second)
	f.stored(key, &next)
}

// testRemoveOtherEpoch removes an earlier activation of the owner, which is not
// the one that is there.
func testRemoveOtherEpoch(f *fixture) {
	a := f.member("a")
	first := f.activate(a, key)
	f.remove(key, a, first.Epoch)
	e := f.activate(a, key)
	f.staleStorage("removing an earlier activation", "remove", f.Storage.Remove(f.ctx, key, a, first.Epoch))
	f.stored(key, &e)
}

func testNotFound(f *fixture) {
	f.stored(key, nil)
	f.claim(f.member("a"), key)
	f.stored(key, nil)
}
