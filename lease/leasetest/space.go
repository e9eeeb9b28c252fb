// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/lease"
)

// testExhaustion checks that the whole space can be leased, and what happens
// then.
func testExhaustion(f *fixture) {
	n := f.newNode(small(2))
	var all []idgen.Lease
	for range 16 {
		all = append(all, f.acquireLease(n, 4)...)
	}
	for _, throughput := range []int{1, 5, 64} {
		leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: throughput})
		var exhausted *lease.ExhaustedError
		if !errors.As(err, &exhausted) || !errors.Is(err, lease.ErrExhausted) || exhausted.ThroughputPerMs != throughput || leases != nil {
			f.Errorf("%d positions of none: got %+v and %v, want ErrExhausted", throughput, leases, err)
		}
	}
	apart := all[9]
	if apart.ID == all[3].ID^1 { // its buddy: the two would be granted as one block
		apart = all[10]
	}
	f.releaseLease(n, all[3], all[3].Created)
	f.releaseLease(n, apart, apart.Created)
	f.advance(2 * time.Millisecond)
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: 9}); !errors.Is(err, lease.ErrExhausted) {
		f.Errorf("9 positions of 8: got %v, want ErrExhausted", err)
	}
	if leases := f.acquireLease(n, 8); len(leases) != 2 { // apart from each other
		f.Errorf("8 positions in two places: got %d leases", len(leases))
	}
	f.advance(10 * time.Minute)
	f.acquireLease(n, 64) // the whole space
}

// testMixedLayouts lets servers with different bitSeq share a space, and checks
// that blocks are split and merged where that is needed.
func testMixedLayouts(f *fixture) {
	var nodes []*node
	for bitSeq := 1; bitSeq <= 5; bitSeq++ {
		nodes = append(nodes, f.newNode(small(bitSeq)))
	}
	for _, order := range [][]int{{4, 4}, {3, 3, 3, 3}, {0, 4}, {1, 4}, {2, 4}, {0, 3, 3}} { // there is room for each, whatever is drawn
		for _, i := range order {
			if leases := f.acquireLease(nodes[i], 1); len(leases) != 1 || leases[0].BitSeq != i+1 {
				f.Errorf("%v: with bitSeq %d: got %+v", order, i+1, leases)
			}
		}
		f.advance(time.Hour)
	}
	for range 32 { // all the space in the smallest blocks, and whole again
		f.acquireLease(nodes[0], 1)
	}
	f.advance(time.Hour)
	for range 2 {
		if leases := f.acquireLease(nodes[4], 32); len(leases) != 1 || leases[0].BitSeq != 5 {
			f.Errorf("half of the space: got %+v", leases)
		}
	}
}

// jumps are how far the clock of a running server is off, now and then.
var jumps = []time.Duration{0, 0, 0, 0, 0, 0, -time.Hour, 20 * time.Minute, 24 * time.Hour, year}

// testRandom acquires, releases and lets time pass at random, through servers
// whose layouts and clocks differ. Clocks jump, by up to a year, and back. How many leases
// 250 steps grant depends on the seed, so it goes on until there are 60.
func testRandom(f *fixture) {
	r := seed.Rand(f.T)
	var nodes []*node
	for bitSeq := 1; bitSeq <= 4; bitSeq++ {
		store := f.Open(f.T, f.name)
		if bitSeq%2 == 0 {
			store = Hostile(store, r.Uint64())
		}
		n := f.newNodeOf(store, small(bitSeq))
		f.acquireLease(n, 1) // its clock is right
		nodes = append(nodes, n)
	}
	var current []idgen.Lease
	for step := 0; step < 250 || f.ledger.Len() < 60; step++ {
		if step == 2500 {
			f.Fatalf("only %d leases were granted in %d steps", f.ledger.Len(), step)
		}
		n := nodes[r.IntN(len(nodes))]
		n.off.Store(int64(r.IntN(20_000)) - 10_000 + jumps[r.IntN(len(jumps))].Milliseconds())
		switch r.IntN(5) {
		case 0:
			f.advance(time.Duration(r.IntN(300_000)) * time.Millisecond)
		case 1:
			if len(current) > 0 {
				i := r.IntN(len(current))
				n.off.Store(int64(r.IntN(20_000)) - 10_000)
				f.randomRelease(r, n, current[i])
				current = append(current[:i], current[i+1:]...)
			}
		default:
			throughput := 1 + r.IntN(20)
			leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ThroughputPerMs: throughput})
			if errors.Is(err, lease.ErrExhausted) {
				continue
			}
			if err != nil {
				f.Fatal(err)
			}
			f.checkGrant(leases, throughput)
			f.wantNearNow(leases)
			current = append(current, leases...)
		}
	}
}
