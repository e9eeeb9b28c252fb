// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// world has a store and the true time.
type world struct {
	*testing.T
	store  store.Store
	faults *faults
	now    time.Time
}

func newWorld(t *testing.T) *world {
	f := &faults{}
	return &world{T: t, store: storetest.Faulty(storetest.Documents(), f.decide), faults: f, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
}

// worker is a Leaser with a clock that may be off.
type worker struct {
	*Leaser
	off time.Duration
}

func (w *world) newWorker(o Options) *worker {
	w.Helper()
	x := &worker{}
	began := w.now
	o.Now = func() time.Time { return w.now.Add(x.off) }
	o.Monotonic = func() time.Duration { return w.now.Sub(began) }
	o.Logger = slog.New(slog.DiscardHandler)
	var err error
	if x.Leaser, err = New(w.store, o); err != nil {
		w.Fatal(err)
	}
	return x
}

// mustLease leases a worker id, which must succeed.
func (w *world) mustLease(x *worker, key Key, c Client) Grant {
	w.Helper()
	g, err := x.Lease(w.Context(), key, c)
	if err != nil {
		w.Fatal(err)
	}
	return g
}

// sized returns a key with 2^bits worker ids.
func sized(bits int) Key {
	return Key{Name: "events", Version: 1, Layout: Layout{SkipSize: 1, BaseTS: 1_767_225_600_000, TSSize: 41, WorkerIDSize: bits, SeqSize: 22 - bits}}
}

var renews = Client{Renews: true}

// TestRenewal checks that a client which asks again keeps its worker id, and that another
// client gets it only after the end of the client's lease and the skew.
func TestRenewal(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(1)
	g := w.mustLease(x, key, renews)
	if g.Renewed || !g.NotBefore.Equal(w.now) || !g.Expires.Equal(w.now.Add(DefaultDuration)) || g.Duration != DefaultDuration {
		t.Fatalf("granted %+v", g)
	}
	other := w.mustLease(x, key, renews)
	for range 5 {
		w.now = w.now.Add(9 * time.Minute)
		again := w.mustLease(x, key, Client{LeaseKey: g.LeaseKey})
		if !again.Renewed || again.WorkerID != g.WorkerID || again.LeaseKey != g.LeaseKey || !again.Expires.Equal(w.now.Add(DefaultDuration)) {
			t.Fatalf("renewed %+v as %+v", g, again)
		}
	}
	if next := w.mustLease(x, key, renews); next.WorkerID != other.WorkerID {
		t.Fatalf("worker id %d is granted, want that of the client that did not ask again", next.WorkerID)
	}
	w.now = w.now.Add(DefaultDuration + DefaultSkew - time.Millisecond)
	if late := w.mustLease(x, key, Client{LeaseKey: g.LeaseKey}); !late.Renewed {
		t.Fatalf("asked just before the end of the skew, got %+v", late)
	}
	w.now = w.now.Add(DefaultDuration + DefaultSkew)
	if late := w.mustLease(x, key, Client{LeaseKey: g.LeaseKey}); late.Renewed || late.LeaseKey == g.LeaseKey || !late.NotBefore.Equal(w.now) {
		t.Fatalf("asked after the end, got %+v", late)
	}
}

// TestHold checks that the worker id of a client that never asks again is kept for
// a day, to the millisecond, and no longer once it has asked.
func TestHold(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(1)
	g := w.mustLease(x, key, Client{})
	if !g.Expires.Equal(w.now.Add(DefaultDuration)) {
		t.Fatalf("the client is told that its lease ends at %v", g.Expires)
	}
	asks := w.mustLease(x, key, Client{})
	end := w.now.Add(DefaultHold)
	w.now = w.now.Add(time.Minute)
	if again := w.mustLease(x, key, Client{LeaseKey: asks.LeaseKey}); !again.Renewed {
		t.Fatalf("got %+v", again)
	}
	w.wantExhausted(x, key, w.now.Add(DefaultDuration+DefaultSkew))
	w.now = w.now.Add(DefaultDuration + DefaultSkew)
	if next := w.mustLease(x, key, Client{}); next.WorkerID != asks.WorkerID {
		t.Fatalf("worker id %d is granted, want that of the client that asked", next.WorkerID)
	}
	w.now = end.Add(-time.Millisecond)
	w.wantExhausted(x, key, end)
	w.now = end
	if next := w.mustLease(x, key, Client{}); next.WorkerID != g.WorkerID {
		t.Fatalf("worker id %d is granted, want %d", next.WorkerID, g.WorkerID)
	}
}

// wantExhausted checks that nothing is granted, and until when.
func (w *world) wantExhausted(x *worker, key Key, free time.Time) {
	w.Helper()
	var none *ExhaustedError
	_, err := x.Lease(w.Context(), key, renews)
	if !errors.As(err, &none) || none.Workers != 1<<key.Layout.WorkerIDSize || !none.Free.Equal(free) {
		w.Fatalf("got %v, want that one is free at %v", err, free)
	}
}

// TestAllWorkerIDs leases all worker ids of each size of key, each once.
func TestAllWorkerIDs(t *testing.T) {
	for _, bits := range []int{1, 2, 6, 7} {
		w := newWorld(t)
		x, key, seen := w.newWorker(Options{}), sized(bits), map[int64]bool{}
		for range 1 << bits {
			g := w.mustLease(x, key, renews)
			if g.WorkerID < 0 || g.WorkerID >= 1<<bits || seen[g.WorkerID] {
				t.Fatalf("%d bits: worker id %d is granted, again: %t", bits, g.WorkerID, seen[g.WorkerID])
			}
			seen[g.WorkerID] = true
		}
		w.wantExhausted(x, key, w.now.Add(DefaultDuration+DefaultSkew))
		if n, err := x.Active(t.Context(), key); n != 1<<bits || err != nil {
			t.Errorf("%d bits: %d are active (%v)", bits, n, err)
		}
	}
	for bits := 1; bits <= 21; bits++ {
		if err := shardLayout(sized(bits).Layout.shardWidth()).Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnreadableLeases: leases that are damaged, or a newer version's, hide no others: these are counted, and in a
// quarantine. A change of layout, which would have to know all, is refused.
func TestUnreadableLeases(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(8)
	for range 1 << 8 {
		w.mustLease(x, key, renews)
	}
	docs, err := w.store.List(t.Context(), store.Leases, store.ListOptions{Prefix: prefixOf(key.Name, key.Layout)})
	if err != nil || len(docs) < 4 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	each := 1 << key.Layout.shardWidth()
	p, err := decodePage(docs[1])
	if err != nil {
		t.Fatal(err)
	}
	for i, pair := range p.pairs {
		if pair.Key[0] == 'b' { // a block of a lease
			p.pairs[i].Value = append([]byte("2"), pair.Value[1:]...)
			break
		}
	}
	block, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range []string{`{"format":9}`, string(block), `{"format":1,"pairs":"AAAA"}`} {
		docs[i].Value = []byte(value)
		if _, err := w.store.Put(t.Context(), store.Leases, docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	n, err := x.Active(t.Context(), key)
	if want := 1<<8 - 2*each - 1; n != want || !IsUnreadable(err) || !errors.Is(err, store.ErrNewer) || strings.Count(err.Error(), "snowflake: leases") != 3 {
		t.Errorf("%d are active, want %d: %v", n, want, err)
	}
	err = x.Quarantine(t.Context(), key)
	if !IsUnreadable(err) {
		t.Errorf("the quarantine: %v", err)
	}
	last := docs[len(docs)-1]
	var quarantine *QuarantineError
	if _, err := x.long[key.Layout.shardWidth()].Acquire(t.Context(), idgen.AcquireRequest{ServiceID: last.Key}); !errors.As(err, &quarantine) {
		t.Errorf("after the quarantine a worker id of the last document: %v", err)
	}
	other := sized(9)
	if err := x.CheckChange(t.Context(), key.Name, key.Layout, other.Layout); !IsUnreadable(err) {
		t.Errorf("another layout: %v", err)
	}
}

// TestLongestFreeFirst checks that worker ids are given again in the order in
// which they became free.
func TestLongestFreeFirst(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(6)
	var order []int64
	for range 64 {
		order = append(order, w.mustLease(x, key, renews).WorkerID)
		w.now = w.now.Add(time.Second)
	}
	w.now = w.now.Add(time.Hour)
	for i, want := range order {
		if got := w.mustLease(x, key, renews).WorkerID; got != want {
			t.Fatalf("grant %d is worker id %d, want %d", i, got, want)
		}
	}
}

// TestRestart checks that a new Leaser on a store in use grants no worker id that is
// leased.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	key, seen := sized(7), map[int64]bool{}
	for range 128 {
		g := w.mustLease(w.newWorker(Options{}), key, Client{})
		if seen[g.WorkerID] {
			t.Fatalf("worker id %d is granted twice", g.WorkerID)
		}
		seen[g.WorkerID] = true
	}
}

// TestConcurrent leases from two workers at once, over a store that loses
// connections.
func TestConcurrent(t *testing.T) {
	w := newWorld(t)
	w.faults.set(shaky(seed.Rand(t), 0.04))
	key, workers := sized(8), []*worker{w.newWorker(Options{}), w.newWorker(Options{})}
	var mu sync.Mutex
	seen := map[int64]string{}
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			for j := range 3 {
				g, err := workers[(i+j)%2].Lease(t.Context(), key, renews)
				if err != nil && !errors.Is(err, storetest.ErrFault) {
					t.Error(err)
				}
				mu.Lock()
				if owner := seen[g.WorkerID]; owner != "" && err == nil {
					t.Errorf("worker id %d is granted to %s and %d.%d", g.WorkerID, owner, i, j)
				}
				if err == nil {
					seen[g.WorkerID] = fmt.Sprintf("%d.%d", i, j)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(seen) < 150 {
		t.Errorf("only %d of 192 leases were granted", len(seen))
	}
}

// TestUnknownOutcome checks that a renewal can be repeated if its answer is lost, and
// that a lease keeps its worker id from others if its answer is lost.
func TestUnknownOutcome(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(1)
	g := w.mustLease(x, key, renews)
	w.now = w.now.Add(time.Minute)
	w.faults.set(func() storetest.Fault { return storetest.Fault{Lose: true} })
	if _, err := x.Lease(t.Context(), key, Client{LeaseKey: g.LeaseKey}); !errors.Is(err, storetest.ErrFault) {
		t.Fatalf("got %v", err)
	}
	if _, err := x.Lease(t.Context(), key, renews); !errors.Is(err, storetest.ErrFault) {
		t.Fatalf("got %v", err)
	}
	w.faults.set(nil)
	if again := w.mustLease(x, key, Client{LeaseKey: g.LeaseKey}); !again.Renewed || !again.Expires.Equal(w.now.Add(DefaultDuration)) {
		t.Errorf("got %+v", again)
	}
	w.wantExhausted(x, key, w.now.Add(DefaultDuration+DefaultSkew))
}

// TestRelease checks that a released worker id is free after the skew, and that a release
// can be repeated and does not affect the next lease.
func TestRelease(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(1)
	g := w.mustLease(x, key, Client{})
	w.mustLease(x, key, Client{})
	w.now = w.now.Add(time.Second)
	for range 2 {
		if err := x.Release(t.Context(), key, g.LeaseKey); err != nil {
			t.Fatal(err)
		}
		w.wantExhausted(x, key, w.now.Add(DefaultSkew+time.Millisecond))
	}
	w.now = w.now.Add(DefaultSkew + time.Millisecond)
	next := w.mustLease(x, key, Client{LeaseKey: g.LeaseKey})
	if next.WorkerID != g.WorkerID || next.Renewed {
		t.Fatalf("got %+v", next)
	}
	forged := next.LeaseKey[:len(next.LeaseKey)-1] + "x"
	for _, text := range []string{g.LeaseKey, forged, "7.1.x"} {
		if err := x.Release(t.Context(), key, text); err != nil {
			t.Fatal(err)
		}
	}
	if again := w.mustLease(x, key, Client{LeaseKey: next.LeaseKey}); !again.Renewed {
		t.Error("the next lease was released by a lease key of another one")
	}
	for _, text := range []string{"", "1", "1.2", "1.2.", "-1.2.x", "1.-2.x", "01.2.x", "1.2.x.y", "99999999999999999999.1.x"} {
		if err := x.Release(t.Context(), key, text); !errors.Is(err, ErrLeaseKey) {
			t.Errorf("%q: got %v, want ErrLeaseKey", text, err)
		}
		if _, err := x.Lease(t.Context(), key, Client{LeaseKey: text}); text != "" && !errors.Is(err, ErrLeaseKey) {
			t.Errorf("%q: got %v, want ErrLeaseKey", text, err)
		}
	}
}

// TestForgedLeaseKey checks that a client which makes up a lease key gets a worker
// id of its own.
func TestForgedLeaseKey(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(3)
	g := w.mustLease(x, key, renews)
	for _, text := range []string{g.LeaseKey + "0", fmt.Sprintf("%d.%d.x", g.WorkerID, w.now.UnixMilli()), "8.0.x", "9223372036854775807.0.x"} {
		if other := w.mustLease(x, key, Client{LeaseKey: text}); other.WorkerID == g.WorkerID || other.Renewed {
			t.Errorf("%q: got %+v", text, other)
		}
	}
}

// TestClockJump checks that leased worker ids stay leased when a worker's clock is set
// ahead.
func TestClockJump(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(1)
	w.mustLease(x, key, renews)
	w.mustLease(x, key, Client{})
	for _, off := range []time.Duration{11 * time.Minute, 20 * time.Hour, 400 * 24 * time.Hour} {
		x.off = off
		if g, err := x.Lease(t.Context(), key, renews); !errors.Is(err, ErrExhausted) {
			t.Errorf("%v ahead: got %+v, %v", off, g, err)
		}
	}
}

// TestTimestampEnd checks that no lease passes the end of the timestamp.
func TestTimestampEnd(t *testing.T) {
	w := newWorld(t)
	key := sized(4)
	key.Layout.TSSize, key.Layout.SkipSize = 32, 10
	key.Layout.BaseTS = w.now.UnixMilli() - 1<<32 + 60_000
	x := w.newWorker(Options{})
	if g := w.mustLease(x, key, renews); g.Expires.Sub(w.now) != time.Minute {
		t.Errorf("the lease ends in %v, want the minute that is left", g.Expires.Sub(w.now))
	}
	w.now = w.now.Add(time.Minute)
	var none *ExhaustedError
	if _, err := x.Lease(t.Context(), key, renews); !errors.As(err, &none) || none.Workers != 0 {
		t.Errorf("at the end: got %v", err)
	}
	key.Layout.BaseTS, key.Name = w.now.UnixMilli()+1, "later"
	if _, err := x.Lease(t.Context(), key, renews); err == nil {
		t.Error("a lease is granted before base_ts")
	}
}

// TestLostDocument checks that after the store has lost leases, nothing is granted until they
// have ended.
func TestLostDocument(t *testing.T) {
	w := newWorld(t)
	x, key := w.newWorker(Options{}), sized(1)
	w.mustLease(x, key, Client{})
	deleteAll(t, w.store)
	if g, err := x.Lease(t.Context(), key, renews); err == nil {
		t.Errorf("granted %+v", g)
	}
	w.now = w.now.Add(DefaultHold + 2*time.Minute)
	w.mustLease(x, key, renews)
	if err := x.Quarantine(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if g, err := w.newWorker(Options{}).Lease(t.Context(), key, renews); err == nil {
		t.Errorf("in quarantine: granted %+v", g)
	}
}

// TestCancelled checks that a call ends with its context.
func TestCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.newWorker(Options{}).Lease(ctx, sized(4), renews); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Duration: -1}, {Duration: time.Millisecond}, {Duration: 13 * time.Hour}, {Skew: 2 * time.Hour}, {Hold: time.Minute}, {Hold: 32 * 24 * time.Hour}, {Duration: time.Second + 1}} {
		if _, err := New(storetest.Documents(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	for _, o := range []Options{{}, {Skew: -1}, {Hold: 31 * 24 * time.Hour, Duration: 12 * time.Hour}} {
		if _, err := New(storetest.Documents(), o); err != nil {
			t.Error(err)
		}
	}
	for _, l := range []Layout{{}, {SkipSize: 1, TSSize: 41, WorkerIDSize: 10, SeqSize: 11}, {SkipSize: 1, TSSize: 41, WorkerIDSize: 0, SeqSize: 22}, {SkipSize: 1, BaseTS: -1, TSSize: 41, WorkerIDSize: 10, SeqSize: 12}} {
		if err := l.Validate(); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}
