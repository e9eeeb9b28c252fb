// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// TestSuspend has the wall clock gain an hour, as after a suspend during which the monotonic clock stood
// still: each group whose timers run is told so, once, though the handler panics, and no election timeout fires.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var elections atomic.Int64
		m, err := New(t.Context(), func(g *Group[*atomic.Int64], e rafttimer.Event) {
			switch {
			case e.Kind == rafttimer.ElectionTimeout:
				elections.Add(1)
			case e.Kind == rafttimer.Stall && e.Late == time.Hour:
				if g.Value().Add(1) == 1 {
					panic("a fault")
				}
			}
		}, Options{Shards: 2, OnPanic: func(*PanicError) {}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		stalls := make([]atomic.Int64, 30)
		for i := range stalls {
			g, _ := m.NewGroup(&stalls[i])
			[]func() error{g.BecomeFollower, g.BecomeLeader, g.StopAll}[i%3]()
		}
		time.Sleep(100 * time.Millisecond)
		for _, s := range m.shards {
			s.turn.LockNow()
			s.clock.Ahead -= time.Hour
			s.turn.Unlock()
		}
		time.Sleep(140 * time.Millisecond) // the leaders' next heartbeat comes before it, the timeouts' ends after
		synctest.Wait()
		for i := range stalls {
			want := int64(1)
			if i%3 == 2 {
				want = 0
			}
			if got := stalls[i].Load(); got != want {
				t.Errorf("group %d is told of %d stalls, want %d", i, got, want)
			}
		}
		if n := elections.Load(); n != 0 {
			t.Errorf("%d elections", n)
		}
	})
}

// TestSuspendOfABusyShard has the same happen to a shard whose handlers take so long that something is always
// due: its groups are told all the same.
func TestSuspendOfABusyShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Bool
		m, err := New(t.Context(), func(_ *Group[int], e rafttimer.Event) {
			if e.Kind == rafttimer.Stall && e.Late == time.Hour {
				told.Store(true)
			}
			time.Sleep(60 * time.Millisecond) // longer than a heartbeat's interval
		}, Options{Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for n := range 2 {
			g, _ := m.NewGroup(n)
			g.BecomeLeader()
		}
		time.Sleep(time.Second)
		s := m.shards[0]
		s.turn.LockNow()
		s.clock.Ahead -= time.Hour
		s.turn.Unlock()
		time.Sleep(time.Second)
		if !told.Load() {
			t.Error("no group is told of the suspend")
		}
	})
}
