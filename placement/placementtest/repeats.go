// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"sync"

	"github.com/kazahana-db/kazahana/placement"
)

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

// testRepeatedClaim repeats a claim whose answer was lost: before the store, after
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
		var l placement.Lease
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
