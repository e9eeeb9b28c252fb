// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// fast are timers that fire all the time.
var fast = rafttimer.Config{ElectionTimeoutMin: 200 * time.Microsecond, ElectionTimeoutMax: 400 * time.Microsecond, StallThreshold: time.Hour}

// TestStopIsStrict stops groups at random moments of real time, from several goroutines, and looks for a handler
// that runs for a group after its stop has returned.
func TestStopIsStrict(t *testing.T) {
	type state struct{ running, stopped atomic.Bool }
	var calls atomic.Int64
	m := newMux(t, func(g *rafttimer.Group[*state], e rafttimer.Event) {
		s := g.Value()
		s.running.Store(true)
		if s.stopped.Load() {
			t.Error("the handler begins after a stop has returned")
		}
		for range rand.IntN(3) {
			runtime.Gosched()
		}
		if s.stopped.Load() {
			t.Error("the handler runs after a stop has returned")
		}
		s.running.Store(false)
		calls.Add(1)
	}, rafttimer.MuxOptions{Config: fast, Resolution: 20 * time.Microsecond, Shards: 2})
	stops := []func(*rafttimer.Group[*state]) error{(*rafttimer.Group[*state]).StopAll, (*rafttimer.Group[*state]).Close}
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for n := range 400 {
				s := &state{}
				g, err := m.NewGroup(s)
				if err != nil {
					t.Error(err)
					return
				}
				g.BecomeLeader()
				for range rand.IntN(200) {
					runtime.Gosched()
				}
				stops[n%2](g)
				s.stopped.Store(true)
				if s.running.Load() {
					t.Error("the handler runs as a stop returns")
				}
				g.Close()
			}
		})
	}
	work.Wait()
	if calls.Load() == 0 {
		t.Error("no handler ever ran")
	}
}

// TestVerbsInTheHandler calls every verb from inside of the handler, for its group and for another.
func TestVerbsInTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var groups []*rafttimer.Group[int]
		var m *rafttimer.Mux[int]
		var calls atomic.Int64
		m = newMux(t, func(g *rafttimer.Group[int], e rafttimer.Event) {
			calls := calls.Add(1)
			for _, g := range groups {
				for _, verb := range []func() error{g.BecomeFollower, g.BecomeCandidate, g.StopAll, g.BecomeLeader} {
					if err := verb(); err != nil {
						t.Error(err)
					}
				}
				g.Contact()
				g.ContactAt(m.Now())
				g.ObserveBroadcast(ms)
				if g.Role() != rafttimer.Leader || !g.State().HeartbeatInterval || g.IsCurrent(e) {
					t.Errorf("after %v: a %v, %v", e, g.Role(), g.State())
				}
			}
			if calls == 10 {
				groups[0].Close()
				m.Close()
				if _, err := m.NewGroup(0); !errors.Is(err, rafttimer.ErrClosed) {
					t.Errorf("NewGroup after Close: %v", err)
				}
			}
		}, rafttimer.MuxOptions{Shards: 1})
		groups = []*rafttimer.Group[int]{newGroup(t, m, 1), newGroup(t, m, 2)}
		groups[0].BecomeFollower()
		time.Sleep(time.Minute)
		if calls := calls.Load(); calls != 10 {
			t.Errorf("%d calls, want 10", calls)
		}
	})
}

// TestHandlerPanics checks that a handler that panics, or ends its goroutine, takes no other group's timers along.
func TestHandlerPanics(t *testing.T) {
	fault := errors.New("a fault")
	for _, end := range []func(){func() { panic(fault) }, runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			reported := 0
			m := newMux(t, func(g *rafttimer.Group[*int], _ rafttimer.Event) {
				if *g.Value()++; *g.Value() > 1000 {
					end()
				}
			}, rafttimer.MuxOptions{Shards: 1, OnPanic: func(group any, e rafttimer.Event, value any, stack []byte) {
				reported++
				if g, ok := group.(*rafttimer.Group[*int]); !ok || *g.Value() < 1000 || value != fault || len(stack) == 0 || e.Kind != rafttimer.Heartbeat {
					t.Errorf("reported: group %v, %v, value %v, stack of %d bytes", group, e, value, len(stack))
				}
			}})
			var beats [20]int
			for i := range beats {
				if i%2 == 0 {
					beats[i] = 1000
				}
				newGroup(t, m, &beats[i]).BecomeLeader()
			}
			time.Sleep(2*time.Second + 20*ms)
			synctest.Wait()
			for i, n := range beats {
				if n%1000 != 40 {
					t.Errorf("group %d has %d heartbeats, want 40", i, n%1000)
				}
			}
			if reported != 0 && reported != 400 {
				t.Errorf("%d panics reported, want 400", reported)
			}
		})
	}
}

// TestStall has the handler of one group block its shard for hours: every other group is told, once, no follower starts an
// election, and heartbeats come without a burst.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type member struct{ stalls, beats, missed, elections int }
		blocked := false
		m := newMux(t, func(g *rafttimer.Group[*member], e rafttimer.Event) {
			s := g.Value()
			switch {
			case s == nil && !blocked:
				blocked = true
				time.Sleep(5 * time.Hour)
			case s == nil:
			case e.Kind == rafttimer.Stall:
				s.stalls++
			case e.Kind == rafttimer.Heartbeat:
				s.beats, s.missed = s.beats+1, s.missed+e.Missed
			default:
				s.elections++
			}
		}, rafttimer.MuxOptions{Shards: 1})
		var leader, follower member
		newGroup(t, m, nil).BecomeLeader()
		l, f := newGroup(t, m, &leader), newGroup(t, m, &follower)
		l.BecomeLeader()
		f.BecomeFollower()
		time.Sleep(5*time.Hour + 190*ms) // less than an election timeout after it
		synctest.Wait()
		if want := (member{stalls: 1, beats: leader.beats, missed: leader.missed}); leader != want || leader.beats > 5 || leader.beats+leader.missed < 360_000 {
			t.Errorf("the leader: %+v", leader)
		}
		if want := (member{stalls: 1}); follower != want {
			t.Errorf("the follower: %+v", follower)
		}
	})
}

// TestFarDeadlines checks timeouts beyond the horizon of the wheel, and that groups may do nothing for as long.
func TestFarDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		late := make(chan time.Duration, 9)
		m := newMux(t, func(g *rafttimer.Group[int], e rafttimer.Event) { late <- e.Late },
			rafttimer.MuxOptions{Shards: 1, Resolution: ms, Config: rafttimer.Config{ElectionTimeoutMin: 10 * day, ElectionTimeoutMax: 10*day + 1, HeartbeatInterval: ms, StallThreshold: day}})
		g := newGroup(t, m, 0)
		time.Sleep(100 * day)
		g.BecomeFollower()
		time.Sleep(10*day - 1)
		synctest.Wait()
		if len(late) > 0 {
			t.Fatal("an event before its deadline")
		}
		time.Sleep(2 * ms)
		synctest.Wait()
		if n := len(late); n != 1 {
			t.Fatalf("%d events, want 1", n)
		}
		if late := <-late; late > ms {
			t.Errorf("late by %v, want 1 ms at most", late)
		}
	})
}

// TestConcurrentVerbs calls everything from many goroutines, until the Mux is closed among them.
func TestConcurrentVerbs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var shared atomic.Pointer[rafttimer.Group[int]]
	m, err := rafttimer.NewMux(ctx, func(g *rafttimer.Group[int], e rafttimer.Event) {
		if other := shared.Load(); other != nil {
			other.BecomeFollower()
		}
		g.BecomeCandidate()
	}, rafttimer.MuxOptions{Config: fast, Resolution: 50 * time.Microsecond, Shards: 3})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	for range 6 {
		work.Go(func() {
			for n := 0; ; n++ {
				g, err := m.NewGroup(n)
				if errors.Is(err, rafttimer.ErrClosed) {
					return
				}
				shared.Store(g)
				for _, verb := range []func() error{g.BecomeFollower, g.BecomeLeader, g.BecomeCandidate, g.StopAll, g.BecomeFollower} {
					verb()
					g.Contact()
					g.State()
					shared.Load().Contact()
				}
				g.Close()
				if err := g.BecomeLeader(); !errors.Is(err, rafttimer.ErrClosed) {
					t.Errorf("a verb after Close: %v", err)
					return
				}
			}
		})
	}
	time.AfterFunc(100*ms, cancel)
	work.Wait()
	m.Close()
	m.Close()
	if n := m.Len(); n != 0 {
		t.Errorf("%d groups after Close", n)
	}
}
