// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"errors"
	"fmt"
	"runtime"
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

// testConcurrentOwners lets eight members claim, store and give back three keys,
// each as fast as it can: no two have one at once, and epochs follow the order in
// which they had it.
func testConcurrentOwners(f *fixture) {
	const members, rounds = 8, 30
	book := &ledger{holders: map[placement.Key]placement.Lease{}, last: map[placement.Key]int64{}}
	var wait sync.WaitGroup
	for i := range members {
		owner := f.member(fmt.Sprintf("m%d", i))
		home := f.Home
		if f.Second != nil && i%2 == 1 {
			home = *f.Second
		}
		wait.Go(func() {
			for round := range rounds {
				k := placement.Key{Kind: "thing", ID: fmt.Sprint((i + round) % 3)}
				f.use(home, book, owner, k, placement.RequestID(round+1))
			}
		})
	}
	wait.Wait()
	for _, fault := range book.faults {
		f.Error(fault)
	}
	if book.granted < members { // where a home is slow, most claims meet a holder
		f.Errorf("only %d claims were granted", book.granted)
	}
}

// use claims the key once; if that is granted it stores, and gives all back.
func (f *fixture) use(home Home, book *ledger, owner placement.Owner, k placement.Key, id placement.RequestID) {
	l, err := home.Lock.TryAcquire(f.ctx, placement.TryAcquire{RequestID: id, Key: k, Owner: owner, Address: addressOf(owner), Now: f.now})
	if err != nil {
		book.check(errors.Is(err, placement.ErrHeld), "the claim of %s: %v", owner, err)
		return
	}
	book.take(l)
	runtime.Gosched() // let others claim meanwhile, where the home is fast
	err = home.Storage.Store(f.ctx, l, f.entry(l))
	book.check(err == nil, "storing by %s: %v", owner, err)
	e, err := home.Storage.Load(f.ctx, k)
	book.check(err == nil && e != nil && e.Epoch == l.Epoch, "%s has loaded %+v, %v in epoch %d", owner, e, err, l.Epoch)
	if l.Kept {
		book.give(l)
	}
	err = home.Storage.Remove(f.ctx, k, owner, l.Epoch)
	book.check(err == nil, "removal by %s: %v", owner, err)
	if !l.Kept {
		book.give(l)
		err = home.Lock.Release(f.ctx, l)
		book.check(err == nil, "release by %s: %v", owner, err)
	}
}

// ledger notes who has which key.
type ledger struct {
	mu      sync.Mutex
	holders map[placement.Key]placement.Lease
	last    map[placement.Key]int64
	granted int
	faults  []string
}

func (b *ledger) check(ok bool, format string, args ...any) {
	if ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// take notes a lease that was granted. It can be given on only once its owner
// has noted that it gives it back, so that leases are noted in their order.
func (b *ledger) take(l placement.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.granted++
	if other, held := b.holders[l.Key]; held {
		b.faults = append(b.faults, fmt.Sprintf("%s got %s while %s had it", l.Owner, l.Key, other.Owner))
	}
	if l.Epoch <= b.last[l.Key] {
		b.faults = append(b.faults, fmt.Sprintf("%s got epoch %d of %s after epoch %d", l.Owner, l.Epoch, l.Key, b.last[l.Key]))
	}
	b.holders[l.Key], b.last[l.Key] = l, l.Epoch
}

// give notes that a lease is about to be given back.
func (b *ledger) give(l placement.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.holders, l.Key)
}

// testConcurrentTakeover lets a store race with the takeover of its lease: either
// the new owner finds what was stored, or the store is refused.
func testConcurrentTakeover(f *fixture) {
	for round := range 25 {
		k := placement.Key{Kind: "thing", ID: fmt.Sprint(round)}
		a, b := f.member(fmt.Sprintf("a%d", round)), f.member(fmt.Sprintf("b%d", round))
		old := f.claim(a, k)
		e := f.entry(old)
		f.die(a)
		c := f.command(b, k)
		var stored error
		var wait sync.WaitGroup
		wait.Go(func() { stored = f.Storage.Store(f.ctx, old, e) })
		l := f.granted(c)
		found := f.found(l)
		wait.Wait()
		f.checkTakeover(l, found, stored, e)
	}
}

func (f *fixture) checkTakeover(l placement.Lease, found *placement.ActivationEntry, stored error, e placement.ActivationEntry) {
	f.Helper()
	if stored == nil {
		f.same(found, &e)
	} else {
		f.staleStorage("a store that came late", "store", stored)
		f.stored(l.Key, nil)
	}
	f.staleStorage("a store after the takeover", "store", f.Storage.Store(f.ctx, placement.Lease{Key: l.Key, Owner: e.Owner, Epoch: e.Epoch, ExpiresAt: l.ExpiresAt}, e))
}
