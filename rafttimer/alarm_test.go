// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// A suspend during which the monotonic clock stood still shows as a wall clock
// that is ahead: the leader is told of the stall, once, with its length.
func TestSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stalls []Event
		d, err := New(t.Context(), Options{OnStall: func(e Event) { stalls = append(stalls, e) }, OnHeartbeat: func(Event) {}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		d.BecomeLeader()
		time.Sleep(time.Second)
		synctest.Wait()
		d.turn.Lock()
		d.alarm.(*systemAlarm).clock.ahead -= time.Hour // as if the wall clock had gained an hour since
		d.turn.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(stalls) != 1 || stalls[0].Late != time.Hour || stalls[0].Role != Leader {
			t.Errorf("stalls %v", stalls)
		}
	})
}

// A suspend while no timer ran is not a stall of those that are started later.
func TestSuspendWithoutTimers(t *testing.T) {
	starts := map[string]func(*Driver) error{
		"role":      (*Driver).BecomeLeader,
		"heartbeat": func(d *Driver) error { return d.StartHeartbeat(nil) },
	}
	for name, start := range starts {
		synctest.Test(t, func(t *testing.T) {
			d, err := New(t.Context(), Options{OnStall: func(e Event) { t.Errorf("%s: %v", name, e) }})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			d.alarm = &suspendedAlarm{alarm: d.alarm, by: time.Hour}
			if err := start(d); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		})
	}
}

// suspendedAlarm has a clock that has stood still.
type suspendedAlarm struct {
	alarm
	by time.Duration
}

func (a *suspendedAlarm) slept() time.Duration {
	by := a.by
	a.by = 0
	return by
}

// A wall clock that is set back is not a stall.
func TestWallClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(t.Context(), Options{OnStall: func(e Event) { t.Errorf("%v", e) }})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		d.alarm.(*systemAlarm).clock.ahead += time.Hour
		d.BecomeLeader()
		time.Sleep(time.Second)
	})
}

// Close leaves nothing running: neither the goroutine nor the wait for the context.
func TestCloseFrees(t *testing.T) {
	for range 200 {
		d, err := New(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.BecomeLeader()
		d.Close()
		select {
		case <-d.alarm.(*systemAlarm).gone:
		default:
			t.Fatal("Close returned before the goroutine had ended")
		}
		if d.release() {
			t.Fatal("after Close the driver still waits for its context")
		}
	}
}

// A host of many groups keeps a machine for each.
func TestMachineSize(t *testing.T) {
	if size := unsafe.Sizeof(Machine{}); size > 128 {
		t.Errorf("a machine has %d bytes", size)
	}
}
