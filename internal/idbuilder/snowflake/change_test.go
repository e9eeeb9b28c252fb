// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/lease"
)

// TestNoRepeatsFrom compares the time from which a new layout is safe with all IDs of
// two small layouts.
func TestNoRepeatsFrom(t *testing.T) {
	small := func(rt *rapid.T, name string) Layout {
		return Layout{
			BaseTS: rapid.Int64Range(0, 40).Draw(rt, name+" base"), TSSize: 8,
			WorkerIDSize: rapid.IntRange(1, 3).Draw(rt, name+" worker"), SeqSize: rapid.IntRange(1, 3).Draw(rt, name+" seq"),
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		old, next := small(rt, "old"), small(rt, "next")
		held := rapid.Int64Range(old.BaseTS, old.endOfTime()).Draw(rt, "held")
		safe := next.endOfTime() // found by trying: no later ID of next equals one of old before held
		greatest := (held-old.BaseTS)<<old.timestampShift() - 1
		for safe > next.BaseTS && (safe-1-next.BaseTS)<<next.timestampShift() > greatest {
			safe--
		}
		got := old.NoRepeatsFrom(next, time.UnixMilli(held))
		if want := time.UnixMilli(safe); safe < next.endOfTime() && !got.Equal(want) || safe == next.endOfTime() && !got.IsZero() {
			rt.Fatalf("%+v → %+v, held until %d: %v, want %v", old, next, held, got.UnixMilli(), want.UnixMilli())
		}
	})
}

// TestChange changes the division between worker id and sequence while worker ids are
// leased.
func TestChange(t *testing.T) {
	w := newWorld(t)
	x, y, old := w.newWorker(Options{}), w.newWorker(Options{}), sized(7)
	g := w.mustLease(x, old, Client{})
	end := w.now.Add(DefaultHold)
	next := old
	next.Layout.WorkerIDSize, next.Layout.SeqSize, next.Version = 9, 13, 2
	var refused *ChangeError
	if err := x.CheckChange(t.Context(), old.Name, old.Layout, next.Layout); !errors.As(err, &refused) || !refused.Until.Equal(end) {
		t.Fatalf("got %v, want a ChangeError until %v", err, end)
	}
	if again := w.mustLease(y, old, Client{LeaseKey: g.LeaseKey}); !again.Renewed {
		t.Fatalf("a check alone has changed something: %+v", again)
	}
	end = w.now.Add(DefaultDuration + DefaultSkew)
	if _, err := x.Lease(t.Context(), next, renews); !errors.As(err, &refused) || !refused.Until.Equal(end) {
		t.Fatalf("got %v, want a ChangeError until %v", err, end)
	}
	if _, err := y.Lease(t.Context(), old, Client{LeaseKey: g.LeaseKey}); !errors.Is(err, ErrStale) {
		t.Fatalf("a worker with the old layout renews: %v", err)
	}
	for range 20 { // no shard of the old layout is left open
		if _, err := y.Lease(t.Context(), old, renews); !errors.Is(err, ErrStale) {
			t.Fatalf("a worker with the old layout leases: %v", err)
		}
	}
	w.now = end
	moved := w.mustLease(x, next, Client{LeaseKey: g.LeaseKey})
	if moved.Renewed || moved.NotBefore.Before(end) {
		t.Fatalf("got %+v", moved)
	}
	back := old
	back.Version = 3
	if _, err := y.Lease(t.Context(), back, renews); !errors.As(err, &refused) {
		t.Fatalf("back at once: %v", err)
	}
	w.now = w.now.Add(DefaultHold)
	w.mustLease(y, back, renews)
	if _, err := x.Lease(t.Context(), next, renews); !errors.Is(err, ErrStale) {
		t.Fatalf("got %v", err)
	}
}

// TestChangeForced checks that an operator can accept repeated IDs, and that the error says if
// IDs could repeat for ever.
func TestChangeForced(t *testing.T) {
	w := newWorld(t)
	x, old := w.newWorker(Options{}), sized(4)
	w.mustLease(x, old, renews)
	next := old
	next.Layout.BaseTS, next.Version = w.now.UnixMilli(), 2
	var refused *ChangeError
	if err := x.CheckChange(t.Context(), old.Name, old.Layout, next.Layout); !errors.As(err, &refused) || refused.Until.Sub(w.now) < 24*time.Hour {
		t.Fatalf("got %v", err)
	}
	if err := x.Change(t.Context(), next, true); err != nil {
		t.Fatal(err)
	}
	w.mustLease(x, next, renews)
	if _, err := w.newWorker(Options{}).Lease(t.Context(), old, renews); !errors.Is(err, ErrStale) {
		t.Errorf("got %v", err)
	}
	third := next // after the second layout's IDs, and among those of the first
	third.Layout.SkipSize, third.Layout.SeqSize, third.Version = 0, next.Layout.SeqSize+1, 3
	w.now = w.now.Add(DefaultHold)
	if err := x.CheckChange(t.Context(), old.Name, next.Layout, third.Layout); !errors.As(err, &refused) {
		t.Errorf("IDs of the layout before last come again: got %v", err)
	}
	if _, err := x.Lease(t.Context(), third, renews); !errors.As(err, &refused) {
		t.Errorf("IDs of the layout before last come again: got %v", err)
	}
	w.now = refused.Until // the leases of the first layout ended long ago: enough time has passed
	if err := x.CheckChange(t.Context(), old.Name, next.Layout, third.Layout); err != nil {
		t.Error(err)
	}
	w.mustLease(x, third, renews)
	if err := x.CheckChange(t.Context(), "unused", old.Layout, next.Layout); err != nil {
		t.Errorf("a key of which nothing was leased: %v", err)
	}
	old, w = sized(4), newWorld(t)
	x = w.newWorker(Options{})
	w.mustLease(x, old, renews)
	tiny := sized(4)
	tiny.Layout = Layout{SkipSize: 16, BaseTS: w.now.UnixMilli(), TSSize: 32, WorkerIDSize: 8, SeqSize: 8}
	if err := x.CheckChange(t.Context(), old.Name, old.Layout, tiny.Layout); !errors.As(err, &refused) || !refused.Until.IsZero() {
		t.Errorf("got %v, want that it never is safe", err)
	}
	larger := old
	larger.Layout.SkipSize, larger.Layout.SeqSize = 0, larger.Layout.SeqSize+1
	if err := x.CheckChange(t.Context(), old.Name, old.Layout, larger.Layout); err != nil {
		t.Errorf("a change that leaps over all IDs: %v", err)
	}
}

// TestLateOpening checks that a worker which puts a layout in force late does not open
// what a later layout has closed.
func TestLateOpening(t *testing.T) {
	d := &documents{store: storetest.Documents(), now: time.Now}
	write := func(tx lease.Tx) error {
		tx.Set([]byte("k"), []byte("v"))
		return nil
	}
	for _, step := range []struct {
		name string
		do   func(version int64) func(*page) bool
		at   int64
		want error
	}{{"open", openAt, 1, nil}, {"close", closeAt, 2, errClosed}, {"open", openAt, 2, errClosed}, {"close", closeAt, 4, errClosed}, {"open", openAt, 3, errClosed}, {"open", openAt, 5, nil}} {
		if err := d.changePage(t.Context(), "s", step.do(step.at)); err != nil {
			t.Fatal(err)
		}
		if err := d.Update(t.Context(), "s", write); !errors.Is(err, step.want) {
			t.Errorf("after %s by version %d: got %v, want %v", step.name, step.at, err, step.want)
		}
	}
}

// TestChangeOfManyWorkers checks that a change of layout, and a quarantine, touch the documents that
// have leases, not each that the layout could have: 21 bits have 32,768.
func TestChangeOfManyWorkers(t *testing.T) {
	calls := 0
	w := newWorld(t)
	w.store = storetest.Faulty(w.store, func(storetest.Call) storetest.Fault { calls++; return storetest.Fault{} })
	x, old := w.newWorker(Options{}), sized(21)
	w.mustLease(x, old, renews)
	next := old
	next.Layout.WorkerIDSize, next.Layout.SeqSize, next.Version = 20, old.Layout.SeqSize+1, 2
	w.now = w.now.Add(DefaultDuration + DefaultSkew)
	calls = 0
	w.mustLease(x, next, renews)
	if calls > 30 {
		t.Errorf("the change took %d calls of the store", calls)
	}
	if calls = 0; x.Quarantine(t.Context(), next) != nil || calls > 20 {
		t.Errorf("the quarantine took %d calls of the store", calls)
	}
	for range 10 { // each in another document
		var quarantine *QuarantineError
		if g, err := w.newWorker(Options{}).Lease(t.Context(), next, renews); !errors.As(err, &quarantine) || quarantine.Until.Sub(w.now) < DefaultHold {
			t.Fatalf("in quarantine: got %+v, %v", g, err)
		}
	}
	w.now = w.now.Add(DefaultHold + 2*DefaultSkew)
	w.mustLease(x, next, renews)
}

// TestChangeDuringFirstLease changes the layout, or begins a quarantine, at each moment at which a worker that
// knows only the old layout makes a document and leases the first worker id in it.
func TestChangeDuringFirstLease(t *testing.T) {
	next := sized(7)
	next.Layout.WorkerIDSize, next.Layout.SeqSize, next.Version = 8, next.Layout.SeqSize-1, 2
	for _, c := range []struct {
		name string
		do   func(x *worker) error
		want error
	}{
		{"change", func(x *worker) error { return x.Change(t.Context(), next, true) }, ErrStale},
		{"quarantine", func(x *worker) error { return x.Quarantine(t.Context(), sized(7)) }, lease.ErrQuarantine},
	} {
		for moment := range 8 {
			w := newWorld(t)
			x, old := w.newWorker(Options{}), sized(7)
			if err := x.Change(t.Context(), old, false); err != nil {
				t.Fatal(err)
			}
			calls, acted := 0, false
			act := func(context.Context) {
				if calls++; calls == moment+1 {
					acted = true
					if err := c.do(x); err != nil {
						t.Fatal(err)
					}
				}
			}
			w.store = storetest.Faulty(w.store, func(storetest.Call) storetest.Fault { return storetest.Fault{Before: act} })
			_, err := w.newWorker(Options{}).Lease(t.Context(), old, renews)
			if acted && !errors.Is(err, c.want) || !acted && err != nil {
				t.Errorf("%s before call %d of %d: got %v, want %v", c.name, moment, calls, err, c.want)
			}
			if n, err := x.Active(t.Context(), old); n > 0 && acted || err != nil {
				t.Errorf("%s before call %d of %d: %d are active (%v)", c.name, moment, calls, n, err)
			}
		}
	}
}
