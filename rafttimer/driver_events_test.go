// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"runtime"
	"slices"
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

// What single timers have left in the channel is taken out when they stop: stalls as
// well, once none of them runs any more.
func TestStoppedTimersLeaveNothing(t *testing.T) {
	type verb = func(*rafttimer.Driver) error
	for name, c := range map[string]struct {
		start []verb
		stop  verb
		want  []rafttimer.Kind
	}{
		"election":        {[]verb{startElection}, (*rafttimer.Driver).StopElectionTimeout, nil},
		"heartbeat":       {[]verb{startHeartbeat}, (*rafttimer.Driver).StopHeartbeat, nil},
		"both, heartbeat": {[]verb{startHeartbeat, startElection}, (*rafttimer.Driver).StopHeartbeat, []rafttimer.Kind{rafttimer.Stall}},
		"both, all":       {[]verb{startHeartbeat, startElection}, (*rafttimer.Driver).StopAll, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var clock rafttimer.MockTimeProvider
			stalled := &stallingTime{TimeProvider: &clock}
			d := newDriver(t, rafttimer.Options{Time: stalled})
			for _, start := range c.start {
				if err := start(d); err != nil {
					t.Fatal(err)
				}
			}
			stalled.ahead += time.Second // the election timeout is put off, and still runs
			for len(d.Events()) == 0 {
				clock.Advance(50 * ms)
			}
			if err := c.stop(d); err != nil {
				t.Fatal(err)
			}
			var left []rafttimer.Kind
			for e, ok := received(d); ok; e, ok = received(d) {
				left = append(left, e.Kind)
			}
			if !slices.Equal(left, c.want) {
				t.Errorf("left in the channel: %v, want %v", left, c.want)
			}
		})
	}
}

func startElection(d *rafttimer.Driver) error  { return d.StartElectionTimeout(nil) }
func startHeartbeat(d *rafttimer.Driver) error { return d.StartHeartbeat(nil) }

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
