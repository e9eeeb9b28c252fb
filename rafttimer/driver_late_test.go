// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// serveLate has a driver serve a heartbeat and an election timeout in one go, the
// heartbeat first, and returns the callbacks that ran.
func serveLate(t *testing.T, onHeartbeat func(*rafttimer.Driver)) (ran []string) {
	var clock rafttimer.MockTimeProvider
	late := &stallingTime{TimeProvider: &clock}
	d := newDriver(t, rafttimer.Options{Time: late, Config: rafttimer.Config{
		ElectionTimeoutMin: 99 * ms, ElectionTimeoutMax: 100 * ms, HeartbeatInterval: 40 * ms, StallThreshold: time.Hour,
	}})
	d.StartHeartbeat(func(rafttimer.Event) { ran = append(ran, "heartbeat"); onHeartbeat(d) })
	late.ahead += 25 * ms // heartbeats at 40, 80 and 120 ms, the election timeout at 124 or 125 ms
	d.StartElectionTimeout(func(rafttimer.Event) { ran = append(ran, "election timeout") })
	late.ahead += 90 * ms
	var advance sync.WaitGroup
	advance.Go(func() { clock.Advance(40 * ms) })
	advance.Wait()
	return ran
}

// A contact during a callback makes an election timeout stale that was due together
// with the callback's event.
func TestContactInAnEarlierCallback(t *testing.T) {
	if ran := serveLate(t, func(*rafttimer.Driver) {}); !slices.Equal(ran, []string{"heartbeat", "election timeout"}) {
		t.Errorf("without a contact: %v", ran)
	}
	if ran := serveLate(t, (*rafttimer.Driver).Contact); !slices.Equal(ran, []string{"heartbeat"}) {
		t.Errorf("with a contact: %v", ran)
	}
}

// A callback that ends its goroutine does not take along the events that were due
// together with its own.
func TestGoexitLosesNoEvent(t *testing.T) {
	if ran := serveLate(t, func(*rafttimer.Driver) { goexit() }); !slices.Equal(ran, []string{"heartbeat", "election timeout"}) {
		t.Errorf("callbacks %v", ran)
	}
}

// Of two contacts at once the later counts, whichever goroutine notes its own last.
func TestConcurrentContacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &slowTime{}
		d := newDriver(t, rafttimer.Options{Time: clock, Config: rafttimer.Config{ElectionTimeoutMax: 150*ms + 1}})
		defer d.Close()
		d.BecomeFollower()
		clock.Advance(50 * ms)
		clock.slow = true
		go d.Contact() // has read 50 ms, and notes it a second later
		synctest.Wait()
		clock.slow = false
		clock.Advance(90 * ms)
		d.Contact()
		time.Sleep(2 * time.Second)
		clock.Advance(149 * ms)
		if e, ok := received(d); ok {
			t.Errorf("149 ms after a contact: %v", e)
		}
		clock.Advance(2 * ms)
		if e, ok := received(d); !ok || e.Due < 290*ms {
			t.Errorf("have %v", e)
		}
	})
}

// slowTime is a mocked time that may take a second to answer a reading.
type slowTime struct {
	rafttimer.MockTimeProvider
	slow bool
}

func (s *slowTime) Now() time.Time {
	now := s.MockTimeProvider.Now()
	if s.slow {
		time.Sleep(time.Second)
	}
	return now
}

// Measurements that shorten the timeout of a driver to less than what has passed of it
// start an election, and are not a stall.
func TestObserveBroadcastIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, rafttimer.Options{
			Config:  rafttimer.Config{BroadcastFactor: 10},
			OnStall: func(e rafttimer.Event) { t.Errorf("%v", e) },
		})
		defer d.Close()
		d.ObserveBroadcast(50 * ms) // timeouts of at least 1.5 s
		d.BecomeFollower()
		sleep(1400 * ms)
		for range 100 {
			d.ObserveBroadcast(ms)
		}
		synctest.Wait()
		if e, ok := received(d); !ok || e.Kind != rafttimer.ElectionTimeout || e.Due != 1400*ms {
			t.Errorf("have %v", e)
		}
	})
}

// Many goroutines start, stop and close drivers in real time, with intervals so
// short that timers fire all the while. After a stop has returned, no callback of a
// start before it runs.
func TestStopsFromManyGoroutines(t *testing.T) {
	config := rafttimer.Config{ElectionTimeoutMin: 2 * time.Microsecond, HeartbeatInterval: time.Microsecond}
	var fired atomic.Int64
	for range 20 {
		d := newDriver(t, rafttimer.Options{Config: config})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { startAndStop(t, d, &fired) })
		}
		all.Go(func() {
			for range 1000 {
				d.Contact()
				d.State()
			}
		})
		all.Wait()
		d.Close()
	}
	if fired.Load() == 0 {
		t.Error("no callback ran in all of this")
	}
	t.Logf("%d callbacks", fired.Load())
}

func startAndStop(t *testing.T, d *rafttimer.Driver, fired *atomic.Int64) {
	for n := range 200 {
		var stopped atomic.Bool
		d.StartHeartbeat(func(rafttimer.Event) {
			if fired.Add(1); stopped.Load() {
				t.Error("a callback runs after its stop has returned")
			}
		})
		for range n % 7 {
			time.Sleep(time.Microsecond)
		}
		d.StopHeartbeat()
		stopped.Store(true)
	}
}

// A contact allocates nothing, nor does a machine that advances into a slice with
// room.
func TestAllocations(t *testing.T) {
	d := newDriver(t, rafttimer.Options{})
	d.BecomeFollower()
	m := newMachine(t, rafttimer.Config{}, 1)
	m.BecomeLeader(0)
	now, events := time.Duration(0), make([]rafttimer.Event, 0, 3)
	for name, f := range map[string]func(){
		"Driver.Contact":  d.Contact,
		"Machine.Contact": func() { m.Contact(now) },
		"Machine.Advance": func() { now += 50 * ms; events = m.Advance(events[:0], now) },
		"Machine.Become":  func() { m.BecomeFollower(now); m.BecomeLeader(now) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
