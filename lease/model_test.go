// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// smallLayout has 2^6 positions below the fallback bit: they run out at once.
func smallLayout(bitSeq int) idgen.Layout {
	return idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 7 - bitSeq, SequenceBits: bitSeq}
}

// world is one store with several servers, each with a layout and a clock of
// its own, and the model.
type world struct {
	t        *rapid.T
	store    lease.Store // without the hostility
	now      int64       // the right time
	clock    int64       // what the clock of the server that is called says
	servers  []*lease.Server
	duration time.Duration // of the leases of the server that is called
	ledger   leasetest.Ledger
	granted  []idgen.Lease
	over     map[idgen.Lease]bool     // released by the holder: whether the server took note
	keys     map[string][]idgen.Lease // by request key
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: idgen.DefaultCustomEpoch + 1_000_000_000, keys: map[string][]idgen.Lease{}, over: map[idgen.Lease]bool{}}
	var store lease.Store = memory.NewStore(func() time.Time { return time.UnixMilli(w.clock) })
	w.store = store
	if rapid.Bool().Draw(t, "hostile") {
		store = leasetest.Hostile(store, rapid.Uint64().Draw(t, "seed"))
	}
	for bitSeq := 1; bitSeq <= 4; bitSeq++ {
		duration := durationOf(bitSeq - 1)
		server, err := lease.NewServer(store, lease.Options{
			Default: lease.ServiceConfig{Layout: smallLayout(bitSeq), Duration: duration}, Fresh: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.servers = append(w.servers, server)
	}
	return w
}

// examine finds no fault, in whatever order leases are granted and released, but in accounts:
// a server with a clock that is far ahead takes leases out of them that have not ended.
func (w *world) examine(t *rapid.T) {
	faults, _, err := examineAll(w.store, lease.DefaultService, time.UnixMilli(w.now), 7)
	faults = slices.DeleteFunc(faults, func(f lease.Fault) bool { return f.Kind == lease.FaultCharge })
	if err != nil || len(faults) > 0 {
		t.Fatalf("%v, %v", faults, err)
	}
}

// skews are how far a clock can be off: mostly a little, sometimes by a year.
var skews = rapid.Custom(func(t *rapid.T) time.Duration {
	off := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, time.Second, time.Minute, 20 * time.Minute, 24 * time.Hour, 365 * 24 * time.Hour}).Draw(t, "off")
	if rapid.Bool().Draw(t, "slow") && off < 48*time.Hour {
		off = -off
	}
	return off + time.Duration(rapid.IntRange(-50, 50).Draw(t, "ms"))*time.Millisecond
})

func (w *world) server() *lease.Server {
	w.clock = w.now + skews.Draw(w.t, "skew").Milliseconds()
	i := rapid.IntRange(0, len(w.servers)-1).Draw(w.t, "server")
	w.duration = durationOf(i)
	return w.servers[i]
}

// durationOf is how long leases of a server last.
func durationOf(server int) time.Duration { return time.Duration(server+1) * 2 * time.Minute }

func (w *world) acquire(t *rapid.T) {
	w.t = t
	req := idgen.AcquireRequest{Throughput: rapid.IntRange(0, 40).Draw(t, "throughput")}
	if rapid.Bool().Draw(t, "keyed") {
		req.RequestKey = fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "key"))
	}
	ctx := context.Background()
	if rapid.Bool().Draw(t, "budgeted") {
		ctx = refusal.WithBudget(ctx, &refusal.Budget{Account: "a", PerMs: 64})
		for _, l := range w.granted[len(w.granted)-rapid.IntRange(0, min(40, len(w.granted))).Draw(t, "replaced"):] {
			req.Replaces = append(req.Replaces, l.Ref())
		}
	}
	leases, err := w.server().Acquire(ctx, req)
	if err != nil {
		if !errors.Is(err, lease.ErrExhausted) && !errors.Is(err, lease.ErrBudget) {
			t.Fatal(err)
		}
		return
	}
	if before := w.keys[req.RequestKey]; req.RequestKey != "" && slices.Equal(before, leases) {
		for _, l := range leases {
			if w.over[l] {
				t.Fatalf("granted once more after its release: %+v", l)
			}
		}
		return
	}
	total := 0
	for _, l := range leases {
		total += l.Throughput()
	}
	if total < req.Throughput {
		t.Fatalf("asked for %d positions, got %d", req.Throughput, total)
	}
	for _, l := range leases {
		if l.Duration() != w.duration {
			t.Fatalf("the lease lasts %v, want %v: %+v", l.Duration(), w.duration, l)
		}
	}
	if err := w.ledger.AddGrant(leases...); err != nil {
		t.Fatal(err)
	}
	w.granted = append(w.granted, leases...)
	w.keys[req.RequestKey] = leases
}

// release ends a lease at a time within it, as its holder's clock has it.
func (w *world) release(t *rapid.T) {
	w.t = t
	if len(w.granted) == 0 {
		t.Skip("nothing to release")
	}
	l := w.granted[len(w.granted)-1-rapid.IntRange(0, min(20, len(w.granted)-1)).Draw(t, "which")]
	if _, over := w.over[l]; over {
		t.Skip("released already")
	}
	server := w.server()
	w.clock = rapid.Int64Range(l.Created-10_000, l.Expired+10_000).Draw(t, "clock")
	signed := w.clock + rapid.Int64Range(-30_000, 30_000).Draw(t, "signed")
	last := min(max(signed, l.Created-1), l.Expired-1)
	err := server.Release(context.Background(), l.Release("", last, time.UnixMilli(signed)))
	if err != nil && !errors.Is(err, lease.ErrNotFound) {
		t.Fatal(err)
	}
	if signed < l.Expired { // else the holder has begun to continue
		w.over[l] = err == nil
		w.ledger.AddRelease(l, last)
	}
}

// advanceToEnd advances to shortly before the end of the latest lease: its positions can
// then be granted ahead.
func (w *world) advanceToEnd(t *rapid.T) {
	if n := len(w.granted); n > 0 {
		w.now = max(w.now, w.granted[n-1].Expired-rapid.Int64Range(1, 1000).Draw(t, "left"))
	}
}

func (w *world) advance(t *rapid.T) {
	w.now += rapid.SampledFrom([]int64{1, 500, 30_000, 60_000, 240_000, 600_000, 3_600_000}).Draw(t, "by")
}

// TestGrantsAreDisjoint lets servers with different layouts, durations and
// clocks, some of them a year ahead, grant and release at random, and checks
// each lease against every one that was ever granted: no two holders can make
// one ID, continued ones included.
func TestGrantsAreDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"acquire": w.acquire, "acquire2": w.acquire, "acquire3": w.acquire,
			"release": w.release, "advance": w.advance, "advance to end": w.advanceToEnd, "": w.examine,
		})
	})
}
