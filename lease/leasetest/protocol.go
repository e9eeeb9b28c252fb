// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/lease"
)

// testAcquire checks a lease of the default configuration.
func testAcquire(f *fixture) {
	n := f.newNode(fresh())
	leases := f.acquireLease(n, 0)
	if len(leases) != 1 {
		f.Fatalf("got %d leases, want 1", len(leases))
	}
	l, now := leases[0], f.now.Load()
	if l.Layout() != idgen.DefaultLayout() || l.Created != now || l.Expired != now+600_000 {
		f.Errorf("at %d: %+v", now, l)
	}
	if len(l.Secret) < 32 {
		f.Errorf("the secret has %d characters", len(l.Secret))
	}
	if other := f.acquireLease(n, 0)[0]; other.Secret == l.Secret {
		f.Error("two leases have one secret")
	}
}

// testThroughput checks that what is asked for is granted, as one lease while
// there is room.
func testThroughput(f *fixture) {
	n := f.newNode(fresh())
	for _, c := range []struct{ throughput, bitSeq int }{
		{0, 8}, {1, 8}, {255, 8}, {256, 8}, {257, 9}, {1024, 10}, {1025, 11}, {4096, 12}, {16384, 14},
	} {
		if leases := f.acquireLease(n, c.throughput); len(leases) != 1 || leases[0].SequenceBits != c.bitSeq {
			f.Errorf("%d positions: got %d leases, the first with bitSeq %d, want one with %d",
				c.throughput, len(leases), leases[0].SequenceBits, c.bitSeq)
		}
	}
}

// testRoundRobin checks that positions go round: none is leased again before
// all others were, be it released at once.
func testRoundRobin(f *fixture) {
	n := f.newNode(small(2))
	seen := map[int64]int{}
	for round := range 3 {
		for range 16 {
			l := f.acquireLease(n, 1)[0]
			seen[l.ID]++
			f.releaseLease(n, l, l.Created)
			f.advance(2 * time.Millisecond)
		}
		if round == 0 && len(seen) != 16 {
			f.Fatalf("of 16 machine ids, %d were leased in the first round", len(seen))
		}
	}
}

// testServices checks that services have leases, layouts and durations of their
// own.
func testServices(f *fixture) {
	other := idgen.Layout{CustomEpoch: 1, ReserveBits: 1, TimestampBits: 41, MachineBits: 10, SequenceBits: 12}
	n := f.newNode(lease.Options{Fresh: true, OnlyListed: true, Services: map[string]lease.ServiceConfig{
		"default":       {},
		"team/orders:2": {Layout: other, Duration: time.Hour},
	}})
	for range 3 {
		leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: "team/orders:2", Throughput: 5000})
		if err != nil {
			f.Fatal(err)
		}
		if l := leases[0]; l.SequenceBits != 13 || l.MachineBits != 9 || l.CustomEpoch != 1 || l.Duration() != time.Hour {
			f.Errorf("got %+v", l)
		}
	}
	if l := f.acquireLease(n, 1)[0]; l.Layout() != idgen.DefaultLayout() {
		f.Errorf("the default service: got %+v", l)
	}
	named, err := n.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: lease.DefaultService})
	if err != nil {
		f.Fatal(err)
	}
	f.checkGrant(named, 1) // "default" and "" are one service: its leases are disjoint
	for _, id := range []string{"unlisted", "orders"} {
		if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{ServiceID: id}); !errors.Is(err, lease.ErrUnknownService) {
			f.Errorf("service %q: got %v, want ErrUnknownService", id, err)
		}
	}
}

// testEpoch checks that epoch, reserve and timestamp of a service stay what they
// were when it was first leased, while the bits below may move.
func testEpoch(f *fixture) {
	f.acquireLease(f.newNode(fresh()), 1)
	for _, layout := range []idgen.Layout{
		{CustomEpoch: idgen.DefaultCustomEpoch - 1, ReserveBits: 1, TimestampBits: 41, MachineBits: 14, SequenceBits: 8},
		{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 2, TimestampBits: 40, MachineBits: 14, SequenceBits: 8},
		{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 2, TimestampBits: 41, MachineBits: 13, SequenceBits: 8},
	} {
		n := f.newNode(lease.Options{Default: lease.ServiceConfig{Layout: layout}})
		_, err := n.Acquire(f.Context(), idgen.AcquireRequest{})
		var epoch *refusal.EpochMismatchError
		if !errors.As(err, &epoch) || epoch.Want.CustomEpoch != layout.CustomEpoch || epoch.Got.TimestampBits != 41 || epoch.ServiceID != lease.DefaultService {
			f.Errorf("%+v: got %v, want an EpochMismatchError", layout, err)
		}
	}
	moved := idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: 12, SequenceBits: 10}
	if l := f.acquireLease(f.newNode(lease.Options{Default: lease.ServiceConfig{Layout: moved}}), 1)[0]; l.SequenceBits != 10 || l.MachineBits != 12 {
		f.Errorf("got %+v", l)
	}
}

// testLimits checks that what can never be granted is refused, and named.
func testLimits(f *fixture) {
	n := f.newNode(fresh())
	many := map[string]string{}
	for i := range 17 {
		many[fmt.Sprint(i)] = ""
	}
	for name, req := range map[string]idgen.AcquireRequest{
		"throughput":        {Throughput: 16385},
		"negative":          {Throughput: -1},
		"request key":       {RequestKey: strings.Repeat("k", 129)},
		"meta entries":      {Meta: many},
		"meta size":         {Meta: map[string]string{"host": strings.Repeat("h", 1024)}},
		"service too long":  {ServiceID: strings.Repeat("s", 101)},
		"service with star": {ServiceID: "a*"},
		"service with tag":  {ServiceID: "a{b}"},
		"service with zero": {ServiceID: "a\x00"},
		"service with dots": {ServiceID: "../a"},
	} {
		if leases, err := n.Acquire(f.Context(), req); !errors.Is(err, lease.ErrInvalid) {
			f.Errorf("%s: got %v and %v, want ErrInvalid", name, leases, err)
		}
	}
	l := f.acquireLease(n, 1)[0]
	for name, change := range map[string]func(*idgen.ReleaseRequest){
		"id":     func(r *idgen.ReleaseRequest) { r.ID = 8192 },
		"minus":  func(r *idgen.ReleaseRequest) { r.ID = -1 },
		"bitSeq": func(r *idgen.ReleaseRequest) { r.SequenceBits = 0 },
		"space":  func(r *idgen.ReleaseRequest) { r.SequenceBits = 21 },
	} {
		req := l.Release("", l.Created, time.UnixMilli(f.now.Load()))
		change(&req)
		if err := n.Release(f.Context(), req); !errors.Is(err, lease.ErrInvalid) {
			f.Errorf("release with wrong %s: got %v, want ErrInvalid", name, err)
		}
	}
}

// testList checks listings: complete, in pages, without secrets.
func testList(f *fixture) {
	n := f.newNode(fresh())
	want := map[int64]bool{}
	for i := range 20 {
		leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Meta: map[string]string{"host": fmt.Sprint("h", i)}})
		if err != nil {
			f.Fatal(err)
		}
		f.checkGrant(leases, 1)
		if i%5 == 0 {
			f.releaseLease(n, leases[0], leases[0].Created)
		}
		want[leases[0].ID] = i%5 != 0
	}
	for _, c := range []struct {
		options lease.ListOptions
		leases  int
	}{{lease.ListOptions{}, 16}, {lease.ListOptions{Limit: 3}, 16}, {lease.ListOptions{Limit: 7, Ended: true}, 20}} {
		got := f.listAll(n, c.options)
		if len(got) != c.leases {
			f.Errorf("%+v: listed %d leases, want %d", c.options, len(got), c.leases)
		}
		for _, info := range got {
			if active, known := want[info.ID]; !known || active != info.Active || info.SequenceBits != 8 || info.Meta["host"] == "" || (info.LastTs == nil) != active {
				f.Errorf("%+v: listed %+v", c.options, info)
			}
		}
		text, err := json.Marshal(got)
		if err != nil || strings.Contains(string(text), "ecret") {
			f.Errorf("the listing is %s, %v", text, err)
		}
	}
	f.advance(time.Hour)
	if got := f.listAll(n, lease.ListOptions{}); len(got) != 0 {
		f.Errorf("after an hour there are leases: %+v", got)
	}
	for _, bad := range []lease.ListOptions{{Limit: 1001}, {Limit: -1}, {After: "x"}, {After: "00000000 "}} {
		if _, err := n.server.List(f.Context(), "", bad); !errors.Is(err, lease.ErrInvalid) {
			f.Errorf("%+v: got %v, want ErrInvalid", bad, err)
		}
	}
}

// testExhaustion checks that the whole space can be leased, and what happens
// then.
func testExhaustion(f *fixture) {
	n := f.newNode(small(2))
	var all []idgen.Lease
	for range 16 {
		all = append(all, f.acquireLease(n, 4)...)
	}
	for _, throughput := range []int{1, 5, 64} {
		leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: throughput})
		var exhausted *refusal.ExhaustedError
		if !errors.As(err, &exhausted) || !errors.Is(err, lease.ErrExhausted) || exhausted.Throughput != throughput || leases != nil {
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
	if _, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: 9}); !errors.Is(err, lease.ErrExhausted) {
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
			if leases := f.acquireLease(nodes[i], 1); len(leases) != 1 || leases[0].SequenceBits != i+1 {
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
		if leases := f.acquireLease(nodes[4], 32); len(leases) != 1 || leases[0].SequenceBits != 5 {
			f.Errorf("half of the space: got %+v", leases)
		}
	}
}

// jumps are how far the clock of a running server is off, now and then.
var jumps = []time.Duration{0, 0, 0, 0, 0, 0, -time.Hour, time.Hour, 24 * time.Hour, year}

// testRandom acquires, releases and lets time pass at random, through servers
// with different layouts and clocks. Clocks jump, by up to a year, and back. How many leases
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
			leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{Throughput: throughput})
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
