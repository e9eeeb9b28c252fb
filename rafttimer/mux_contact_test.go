// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// alone returns a group of a Mux of its own, and the events that it gets.
func alone(t *testing.T, c Config) (*Group[int], chan Event) {
	t.Helper()
	events := make(chan Event, 100)
	m, err := NewMux(t.Context(), func(_ *Group[int], e Event) { events <- e }, MuxOptions{Config: c, Shards: 1, Resolution: ms})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	g, err := m.NewGroup(0)
	if err != nil {
		t.Fatal(err)
	}
	return g, events
}

// wantTimeout waits for a single event, an election timeout that comes in time.
func wantTimeout(t *testing.T, events chan Event) Event {
	t.Helper()
	e := <-events
	if e.Kind != ElectionTimeout || e.Late < 0 || e.Late > ms {
		t.Errorf("have %v, want an election timeout in time", e)
	}
	return e
}

// TestMuxObserveBroadcastIsNoStall has the network become so fast that the deadline of a running timeout comes forward,
// into the past: it fires at once, and nothing was late.
func TestMuxObserveBroadcastIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := alone(t, Config{BroadcastFactor: 10})
		g.ObserveBroadcast(50 * ms) // timeouts of at least 1.5 s
		g.BecomeFollower()
		time.Sleep(1400 * ms)
		for range 100 {
			g.ObserveBroadcast(ms)
		}
		if e := wantTimeout(t, events); e.Due != 1400*ms {
			t.Errorf("due at %v, want 1.4s", e.Due)
		}
	})
}

// TestOldContactIsNoStall has a contact that was long under way end a back-off, so that the deadline comes
// forward, into the past.
func TestOldContactIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := alone(t, Config{BackoffFactor: 8})
		g.BecomeCandidate()
		at := wantTimeout(t, events).At() // the next timeout has at least 1.2 s
		time.Sleep(at + 1100*ms - g.shard.mux.Now())
		g.ContactAt(at + ms)
		if e := wantTimeout(t, events); e.Due != at+1100*ms {
			t.Errorf("due at %v, want %v", e.Due, at+1100*ms)
		}
	})
}

// TestContactAhead has a timeout count from a time ahead, whatever else happens to the group.
func TestContactAhead(t *testing.T) {
	const ahead = 5 * time.Second
	for name, happen := range map[string]func(g *Group[int]){
		"nothing":          func(*Group[int]) {},
		"IsCurrent":        func(g *Group[int]) { g.IsCurrent(Event{}) },
		"ObserveBroadcast": func(g *Group[int]) { g.ObserveBroadcast(ms) },
		"twice observed":   func(g *Group[int]) { g.ObserveBroadcast(ms); time.Sleep(ms); g.ObserveBroadcast(ms) },
		"a look that began before it": func(g *Group[int]) {
			g.shard.turn.LockNow()
			defer g.shard.turn.Unlock()
			g.shard.fireGroup(g, g.shard.mux.Now())
		},
		"suspend": func(g *Group[int]) {
			g.shard.turn.LockNow()
			defer g.shard.turn.Unlock()
			g.shard.clock.ahead -= time.Hour
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, events := alone(t, Config{BroadcastFactor: 10})
				g.BecomeFollower()
				g.ContactAt(ahead)
				happen(g)
				if name == "suspend" {
					if e := <-events; e.Kind != Stall || e.Late != time.Hour {
						t.Errorf("have %v, want a stall", e)
					}
				}
				if e := wantTimeout(t, events); e.Due < ahead+150*ms || e.Due > ahead+300*ms {
					t.Errorf("due at %v, want 150 to 300 ms after %v", e.Due, ahead)
				}
			})
		})
	}
}

// TestContactDuringRoleChange notes a contact after the role change has read the clock, and before it ends.
func TestContactDuringRoleChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := alone(t, Config{})
		synctest.Wait() // the shard's goroutine does not wait for the lock
		g.changeRole(func(m *Machine, now time.Duration) {
			m.BecomeFollower(now)
			time.Sleep(200 * ms)
			g.Contact()
		})
		if e := wantTimeout(t, events); e.Due < 350*ms || e.Due > 500*ms {
			t.Errorf("due at %v, want 150 to 300 ms after 200ms", e.Due)
		}
	})
}

// TestContactInTheHandlerOfAStall has the handler of a stall note a contact: the election timeout that was due with the
// stall is stale. The stalls come from another group's handler, which blocks the shard. The first stall puts the
// election timeout off, the second does not.
func TestContactInTheHandlerOfAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stalls, elections atomic.Int64
		m, err := NewMux(t.Context(), func(g *Group[bool], e Event) {
			switch blocks := g.Value(); {
			case blocks:
				time.Sleep(5 * time.Second)
			case e.Kind == ElectionTimeout:
				elections.Add(1)
			case stalls.Add(1)%2 == 0:
				g.Contact()
			}
		}, MuxOptions{Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		blocker, _ := m.NewGroup(true)
		follower, _ := m.NewGroup(false)
		blocker.BecomeLeader()
		follower.BecomeFollower()
		time.Sleep(5 * time.Minute)
		if stalls.Load() < 4 || elections.Load() != 0 {
			t.Errorf("%d stalls, %d elections, want some and none", stalls.Load(), elections.Load())
		}
	})
}

// TestRoleChangeTakesContactBack has a role change end a timeout that counts from a time ahead.
func TestRoleChangeTakesContactBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := alone(t, Config{})
		g.BecomeFollower()
		g.ContactAt(time.Hour)
		g.BecomeCandidate()
		if e := wantTimeout(t, events); e.Due < 150*ms || e.Due > 300*ms {
			t.Errorf("due at %v, want 150 to 300 ms", e.Due)
		}
	})
}

// TestMuxSuspendWithoutTimers suspends a Mux without a running timer: the group that begins afterwards is told nothing.
func TestMuxSuspendWithoutTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, events := alone(t, Config{})
		for range 3 {
			g.shard.turn.LockNow()
			g.shard.clock.ahead -= time.Hour
			g.shard.turn.Unlock()
			g.BecomeFollower()
			wantTimeout(t, events)
			g.StopAll()
			time.Sleep(time.Second) // what the timeout has left in the wheel is gone
		}
	})
}

// TestMuxSuspend has the wall clock gain an hour, as after a suspend during which the monotonic clock stood
// still: each group with running timers is told so, once, though the handler panics, and no election timeout fires.
func TestMuxSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var elections atomic.Int64
		m, err := NewMux(t.Context(), func(g *Group[*atomic.Int64], e Event) {
			switch {
			case e.Kind == ElectionTimeout:
				elections.Add(1)
			case e.Kind == Stall && e.Late == time.Hour:
				if g.Value().Add(1) == 1 {
					panic("a fault")
				}
			}
		}, MuxOptions{Shards: 2, OnPanic: func(any, Event, any, []byte) {}})
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
			s.clock.ahead -= time.Hour
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

// TestSuspendOfABusyShard has the same happen to a shard with handlers that take so long that something is always
// due: its groups are told all the same.
func TestSuspendOfABusyShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Bool
		m, err := NewMux(t.Context(), func(_ *Group[int], e Event) {
			if e.Kind == Stall && e.Late == time.Hour {
				told.Store(true)
			}
			time.Sleep(60 * time.Millisecond) // longer than a heartbeat's interval
		}, MuxOptions{Shards: 1})
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
		s.clock.ahead -= time.Hour
		s.turn.Unlock()
		time.Sleep(time.Second)
		if !told.Load() {
			t.Error("no group is told of the suspend")
		}
	})
}
