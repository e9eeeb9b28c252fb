// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

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
