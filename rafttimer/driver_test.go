// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"context"
	"errors"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// A node goes through the roles by its callbacks, as the specification shows.
func TestDriverRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var elections, beats atomic.Int64
		var d *rafttimer.Driver
		d = newDriver(t, rafttimer.Options{
			OnElectionTimeout: func(e rafttimer.Event) {
				if elections.Add(1) == 3 {
					d.BecomeLeader()
					return
				}
				d.BecomeCandidate()
			},
			OnHeartbeat: func(rafttimer.Event) { beats.Add(1) },
		})
		defer d.Close()
		d.BecomeFollower()
		for range 20 {
			sleep(100 * ms)
			d.Contact()
		}
		if n := elections.Load(); n != 0 {
			t.Fatalf("%d elections in spite of contacts", n)
		}
		sleep(900 * ms)
		if elections.Load() != 3 || d.Role() != rafttimer.Leader || d.State() != rafttimer.Leader.Timers() {
			t.Fatalf("%d elections, now a %v with %v", elections.Load(), d.Role(), d.State())
		}
		before := beats.Load()
		sleep(10 * time.Second)
		if n := beats.Load() - before; n != 200 {
			t.Errorf("%d heartbeats in 10 s", n)
		}
	})
}

// A stop that is due at the same instant as the timer, or soon before or after,
// leaves no callback to run, whichever goroutine runs first.
func TestNoCallbackAfterStop(t *testing.T) {
	stops := map[string]func(*rafttimer.Driver) error{
		"StopAll":        (*rafttimer.Driver).StopAll,
		"StopHeartbeat":  (*rafttimer.Driver).StopHeartbeat,
		"StartHeartbeat": func(d *rafttimer.Driver) error { return d.StartHeartbeat(func(rafttimer.Event) {}) },
		"BecomeFollower": (*rafttimer.Driver).BecomeFollower,
		"Close":          (*rafttimer.Driver).Close,
	}
	for name, stop := range stops {
		t.Run(name, func(t *testing.T) {
			early := 0
			for range 2000 {
				synctest.Test(t, func(t *testing.T) { early += stopAtTheInstant(t, stop) })
			}
			t.Logf("the callback was first in %d of 2000", early)
		})
	}
}

// stopAtTheInstant stops heartbeats at the instant at which the first is due, and
// returns the number of callbacks before.
func stopAtTheInstant(t *testing.T, stop func(*rafttimer.Driver) error) int {
	var stopped atomic.Bool
	calls := 0
	d := newDriver(t, rafttimer.Options{})
	defer d.Close()
	d.StartHeartbeat(func(rafttimer.Event) {
		if calls++; stopped.Load() {
			t.Error("a callback began after the stop had returned")
		}
	})
	time.Sleep(50 * ms)
	if err := stop(d); err != nil {
		t.Error(err)
	}
	stopped.Store(true)
	synctest.Wait()
	sleep(time.Second)
	return calls
}

// A stop waits for the callback that runs.
func TestStopWaitsForTheCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Bool
		d := newDriver(t, rafttimer.Options{OnHeartbeat: func(rafttimer.Event) {
			running.Store(true)
			time.Sleep(time.Hour)
			running.Store(false)
		}})
		defer d.Close()
		d.BecomeLeader()
		sleep(time.Second)
		if !running.Load() {
			t.Fatal("the callback does not run")
		}
		if s := d.State(); !s.HeartbeatInterval || !d.IsCurrent(rafttimer.Event{Kind: rafttimer.Stall, RoleChanges: 1}) {
			t.Errorf("while it runs: %v", s) // looking does not wait
		}
		d.BecomeFollower()
		if running.Load() {
			t.Error("the role change returned while the callback ran")
		}
	})
}

// A stop waits for one callback, not for those that follow it without a pause,
// because each takes longer than the interval.
func TestStopComesBetweenCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			began := 0
			d := newDriver(t, rafttimer.Options{OnHeartbeat: func(rafttimer.Event) {
				began++
				time.Sleep(120 * ms)
			}})
			d.BecomeLeader()
			time.Sleep(100 * ms) // into the middle of a callback
			if err := d.Close(); err != nil || began != 1 {
				t.Fatalf("%d callbacks began before the driver was closed (%v)", began, err)
			}
		}
	})
}

// From inside of a callback everything may be called: the role of the node
// changes at once, and what was due for the old one is dropped.
func TestCallsFromCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *rafttimer.Driver
		var log []string
		d = newDriver(t, rafttimer.Options{
			Config: rafttimer.Config{StallThreshold: time.Second},
			OnStall: func(rafttimer.Event) {
				log = append(log, "stall")
				d.BecomeFollower() // the heartbeat of the same wake-up is stale now
			},
			OnHeartbeat: func(e rafttimer.Event) {
				log = append(log, "beat")
				if len(log) == 1 {
					time.Sleep(5 * time.Second) // the next one is late
				}
			},
			OnElectionTimeout: func(rafttimer.Event) {
				log = append(log, "election")
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				if err := d.BecomeLeader(); !errors.Is(err, rafttimer.ErrClosed) {
					t.Errorf("a closed driver says %v", err)
				}
			},
		})
		d.BecomeLeader()
		sleep(time.Minute)
		if want := []string{"beat", "stall", "election"}; len(log) != 3 || log[1] != want[1] || log[2] != want[2] {
			t.Errorf("callbacks %v, want %v", log, want)
		}
	})
}

// Two drivers do not wait for ever if the callbacks of each stop the timers of the other.
func TestCallbacksThatStopEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b *rafttimer.Driver
		a = newDriver(t, rafttimer.Options{OnHeartbeat: func(rafttimer.Event) { time.Sleep(ms); b.BecomeLeader() }})
		b = newDriver(t, rafttimer.Options{OnHeartbeat: func(rafttimer.Event) { time.Sleep(ms); a.BecomeLeader() }})
		defer a.Close()
		defer b.Close()
		a.BecomeLeader()
		b.BecomeLeader()
		sleep(10 * time.Second)
	})
}

func TestPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []rafttimer.Event
		cause := errors.New("cause")
		d := newDriver(t, rafttimer.Options{
			OnHeartbeat: func(rafttimer.Event) { panic(cause) },
			OnPanic: func(e rafttimer.Event, value any, stack []byte) {
				if value != cause || len(stack) == 0 {
					t.Errorf("the panic has the value %v and a stack of %d bytes", value, len(stack))
				}
				reports = append(reports, e)
			},
		})
		defer d.Close()
		d.BecomeLeader()
		sleep(101 * ms)
		if len(reports) != 2 || reports[1].Due != 100*ms {
			t.Errorf("reports %v", reports)
		}
		if err := d.BecomeFollower(); err != nil {
			t.Error(err)
		}
	})
}

// Without OnPanic the log gets value and stack.
func TestPanicsAreLogged(t *testing.T) {
	var b strings.Builder
	log.SetOutput(&b)
	defer log.SetOutput(os.Stderr)
	var clock rafttimer.MockTimeProvider
	d := newDriver(t, rafttimer.Options{Time: &clock, OnHeartbeat: func(rafttimer.Event) { panic("cause") }})
	d.BecomeLeader()
	clock.Advance(50 * ms)
	for _, want := range []string{"callback of heartbeat panicked: cause", "TestPanicsAreLogged"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, &b)
		}
	}
}

// A callback that ends its goroutine, as FailNow of a test does, does not end the
// timers.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		d := newDriver(t, rafttimer.Options{OnHeartbeat: func(rafttimer.Event) {
			calls++
			goexit()
		}})
		d.BecomeLeader()
		sleep(201 * ms)
		d.Close()
		if calls != 4 {
			t.Errorf("%d heartbeats, want 4", calls)
		}
	})
}

// A role's callbacks are those of the options, even after a start with another.
func TestRolesHaveTheirOwnCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		beats, elections := 0, 0
		d := newDriver(t, rafttimer.Options{
			OnHeartbeat:       func(rafttimer.Event) { beats++ },
			OnElectionTimeout: func(rafttimer.Event) { elections++ },
		})
		defer d.Close()
		other := func(rafttimer.Event) { t.Error("the callback of an earlier start is called") }
		d.StartHeartbeat(other)
		d.StartElectionTimeout(other)
		d.BecomeLeader()
		sleep(51 * ms)
		d.BecomeFollower()
		sleep(301 * ms)
		if beats != 1 || elections == 0 {
			t.Errorf("%d heartbeats, %d election timeouts", beats, elections)
		}
	})
}

func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, rafttimer.Options{})
		d.BecomeLeader()
		for range 2 {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		for name, err := range map[string]error{
			"BecomeFollower": d.BecomeFollower(), "BecomeCandidate": d.BecomeCandidate(), "BecomeLeader": d.BecomeLeader(),
			"StartElectionTimeout": d.StartElectionTimeout(nil), "ResetElectionTimeout": d.ResetElectionTimeout(nil),
			"StopElectionTimeout": d.StopElectionTimeout(), "StartHeartbeat": d.StartHeartbeat(nil),
			"StopHeartbeat": d.StopHeartbeat(), "StopAll": d.StopAll(),
		} {
			if !errors.Is(err, rafttimer.ErrClosed) {
				t.Errorf("%s says %v", name, err)
			}
		}
		d.Contact()
		d.ObserveBroadcast(ms)
		if _, open := <-d.Events(); open || d.State() != (rafttimer.TimerState{}) || d.Role() != rafttimer.NoRole || d.IsCurrent(rafttimer.Event{}) {
			t.Errorf("a closed driver is a %v with %v", d.Role(), d.State())
		}
	})
}

// The end of the context closes the driver.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d, err := rafttimer.New(ctx, rafttimer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.BecomeLeader()
		cancel()
		synctest.Wait()
		if err := d.BecomeLeader(); !errors.Is(err, rafttimer.ErrClosed) {
			t.Errorf("after the end of the context: %v", err)
		}
		ended, err := rafttimer.New(ctx, rafttimer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		<-ended.Events()
	})
}
