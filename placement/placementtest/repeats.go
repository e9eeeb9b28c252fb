// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"sync"

	"github.com/kazahana-db/kazahana/placement"
)

// testConcurrentRepeats repeats one claim at once: all get one lease.
func testConcurrentRepeats(f *fixture) {
	c := f.command(f.member("a"), key)
	leases := make([]claimed, 16)
	var wait sync.WaitGroup
	for i := range leases {
		wait.Go(func() {
			l, err := f.Lock.TryAcquire(f.ctx, c)
			leases[i] = claimed{l, err}
		})
	}
	wait.Wait()
	for _, got := range leases {
		if got.err != nil {
			f.Fatal(got.err)
		}
		f.sameLease(got.lease, leases[0].lease)
	}
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
