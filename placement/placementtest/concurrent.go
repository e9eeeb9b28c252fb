// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/placement"
)

// testConcurrentOwners lets eight members claim, store and give back three keys,
// each as fast as it can: no two have one at once, and epochs follow the order in
// which they had it.
func testConcurrentOwners(f *fixture) {
	const members, rounds = 8, 30
	book := &ledger{holders: map[placement.Key]placement.Lease{}, last: map[placement.Key]int64{}}
	var wait sync.WaitGroup
	for i := range members {
		owner := f.startMember(fmt.Sprintf("m%d", i))
		home := f.Home
		if f.Second != nil && i%2 == 1 {
			home = *f.Second
		}
		wait.Go(func() {
			for round := range rounds {
				k := placement.Key{Kind: "thing", ID: fmt.Sprint((i + round) % 3)}
				f.claimAndFree(home, book, owner, k, placement.RequestID(round+1))
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

// testConcurrentTakeover lets a store race with the takeover of its lease: either
// the new owner finds what was stored, or the store is refused.
func testConcurrentTakeover(f *fixture) {
	for round := range 25 {
		k := placement.Key{Kind: "thing", ID: fmt.Sprint(round)}
		a, b := f.startMember(fmt.Sprintf("a%d", round)), f.startMember(fmt.Sprintf("b%d", round))
		old := f.mustClaim(a, k)
		e := f.newEntry(old)
		f.killMember(a)
		c := f.newClaim(b, k)
		var stored error
		var wait sync.WaitGroup
		wait.Go(func() { stored = f.Storage.Store(f.ctx, old, e) })
		l := f.mustAcquire(c)
		found := f.foundEntry(l)
		wait.Wait()
		f.checkTakeover(l, found, stored, e)
	}
}
