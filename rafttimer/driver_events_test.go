// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

func goexit() { runtime.Goexit() }

// received returns the event in the channel, if there is one.
func received(d *rafttimer.Driver) (e rafttimer.Event, ok bool) {
	select {
	case e, ok = <-d.Events():
	default:
	}
	return e, ok
}

// The channel holds the newest event of each kind; heartbeats that it replaces are
// counted.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, rafttimer.Options{})
		defer d.Close()
		d.BecomeLeader()
		sleep(501 * ms)
		e, _ := received(d)
		if e.Kind != rafttimer.Heartbeat || e.Due != 500*ms || e.Missed != 9 {
			t.Errorf("have %v", e)
		}
		if e, ok := received(d); ok {
			t.Errorf("a second event: %v", e)
		}
		sleep(50 * ms)
		if e, ok := received(d); !ok || e.Missed != 0 {
			t.Errorf("next %v", e)
		}
	})
}

// What a role change, a stop or a start makes stale is taken out of the channel.
func TestStaleEventsAreTakenBack(t *testing.T) {
	for name, change := range map[string]func(*rafttimer.Driver) error{
		"role":    (*rafttimer.Driver).BecomeCandidate,
		"again":   (*rafttimer.Driver).BecomeLeader,
		"stop":    (*rafttimer.Driver).StopAll,
		"close":   (*rafttimer.Driver).Close,
		"restart": func(d *rafttimer.Driver) error { return d.StartHeartbeat(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDriver(t, rafttimer.Options{})
				defer d.Close()
				d.BecomeLeader()
				sleep(51 * ms)
				if err := change(d); err != nil {
					t.Fatal(err)
				}
				if e, ok := received(d); ok {
					t.Errorf("left in the channel: %v", e)
				}
			})
		})
	}
}

// A contact makes an election timeout stale that was not received yet.
func TestContactMakesTimeoutsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, rafttimer.Options{})
		defer d.Close()
		d.BecomeFollower()
		e := <-d.Events()
		if !d.IsCurrent(e) {
			t.Errorf("%v is stale at once", e)
		}
		time.Sleep(ms)
		d.Contact()
		if d.IsCurrent(e) {
			t.Errorf("%v is current after a contact", e)
		}
	})
}

// A contact just before the deadline puts it off, to the nanosecond.
func TestContactPutsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, rafttimer.Options{})
		defer d.Close()
		d.BecomeFollower()
		first := <-d.Events()
		begin := d.Now()
		d.BecomeFollower() // another roll, found out by waiting
		second := <-d.Events()
		if second.Due-begin == first.Due {
			t.Error("two armings have one roll")
		}
		d.BecomeFollower()
		time.Sleep(149 * ms)
		d.Contact()
		at := d.Now()
		third := <-d.Events()
		if rest := third.Due - at; rest < 150*ms || rest > 300*ms || third.Late != 0 {
			t.Errorf("%v after the contact: %v", rest, third)
		}
	})
}

// A consumer that is slow gets the longest stall.
func TestStallsInTheChannel(t *testing.T) {
	var clock rafttimer.MockTimeProvider
	stalled := &stallingTime{TimeProvider: &clock}
	d := newDriver(t, rafttimer.Options{Time: stalled})
	d.BecomeLeader()
	for _, by := range []time.Duration{time.Second, 2 * time.Second, 500 * ms} {
		stalled.ahead += by // the clock goes on, the timer does not
		clock.Advance(50 * ms)
	}
	e, _ := received(d)
	for e.Kind != rafttimer.Stall {
		e, _ = received(d)
	}
	if e.Late != 2*time.Second {
		t.Errorf("%v, want 2 s", e)
	}
}

// stallingTime is a time that runs ahead of its timers, as after a suspend.
type stallingTime struct {
	rafttimer.TimeProvider
	ahead time.Duration
}

func (s *stallingTime) Now() time.Time { return s.TimeProvider.Now().Add(s.ahead) }
