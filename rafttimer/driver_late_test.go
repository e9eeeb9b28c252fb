// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"slices"
	"sync"
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

// slowTime is a mocked time whose readings may take a second to arrive.
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
// start an election, and are no stall.
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
