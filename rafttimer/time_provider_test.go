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

// Callbacks run in the order of deadlines, then of setting, each at its deadline.
func TestAdvanceOrder(t *testing.T) {
	var p rafttimer.MockTimeProvider
	start := p.Now()
	var ran []string
	set := func(name string, delay time.Duration) {
		due := p.Now().Add(max(delay, 0))
		p.SetTimeout(func() {
			ran = append(ran, name)
			if !p.Now().Equal(due) {
				t.Errorf("%s runs at %v, not %v", name, p.Now(), due)
			}
		}, delay)
	}
	set("c", 30*ms)
	set("a", 10*ms)
	set("b1", 20*ms)
	set("b2", 20*ms)
	set("now", 0)
	set("past", -time.Hour)
	set("later", 31*ms)
	p.Advance(30 * ms)
	if want := []string{"now", "past", "a", "b1", "b2", "c"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	if p.ActiveTimers() != 1 || p.Now().Sub(start) != 30*ms {
		t.Errorf("%d timers at %v", p.ActiveTimers(), p.Now().Sub(start))
	}
	p.ClearAll()
	p.Advance(time.Hour)
	if len(ran) != 6 || p.ActiveTimers() != 0 {
		t.Errorf("after ClearAll: %v", ran)
	}
}

// Callbacks set, clear and advance.
func TestCallbacksOfTheMock(t *testing.T) {
	var p rafttimer.MockTimeProvider
	start := p.Now()
	var ran []string
	note := func(name string) func() { return func() { ran = append(ran, name+" "+p.Now().Sub(start).String()) } }
	victim := p.SetTimeout(note("cleared"), 15*ms)
	p.SetTimeout(func() {
		note("first")()
		p.ClearTimeout(victim)
		p.SetTimeout(note("set inside"), 5*ms)
		p.SetTimeout(note("too late"), time.Hour)
	}, 10*ms)
	p.SetTimeout(func() {
		note("outer")()
		p.Advance(50 * ms) // beyond the end of the outer one
		note("outer again")()
		p.SetTimeout(note("at once"), 0)
	}, 20*ms)
	p.SetTimeout(note("inside"), 25*ms)
	p.Advance(30 * ms)
	want := []string{"first 10ms", "set inside 15ms", "outer 20ms", "inside 25ms", "outer again 70ms", "at once 70ms"}
	if !slices.Equal(ran, want) || p.Now().Sub(start) != 70*ms {
		t.Errorf("ran %v at %v, want %v", ran, p.Now().Sub(start), want)
	}
	p.ClearTimeout(victim) // again, and unknown ones
	p.ClearTimeout(0)
	p.ClearTimeout(12345)
}

func TestAdvancePanics(t *testing.T) {
	for name, f := range map[string]func(*rafttimer.MockTimeProvider){
		"negative":     func(p *rafttimer.MockTimeProvider) { p.Advance(-1) },
		"no callback":  func(p *rafttimer.MockTimeProvider) { p.SetTimeout(nil, 0) },
		"endless loop": func(p *rafttimer.MockTimeProvider) { again(p); p.Advance(0) },
	} {
		t.Run(name, func(t *testing.T) {
			var p rafttimer.MockTimeProvider
			defer func() {
				if recover() == nil {
					t.Error("does not panic")
				}
			}()
			f(&p)
		})
	}
}

func again(p *rafttimer.MockTimeProvider) { p.SetTimeout(func() { again(p) }, 0) }

// The longest delays do not overflow into the past.
func TestLongDelays(t *testing.T) {
	var p rafttimer.MockTimeProvider
	p.Advance(time.Hour)
	p.SetTimeout(func() { t.Error("ran") }, 1<<63-1)
	p.Advance(100 * 365 * 24 * time.Hour)
}

// A driver on mocked time runs its callbacks inside of Advance.
func TestDriverOnMockedTime(t *testing.T) {
	var p rafttimer.MockTimeProvider
	var beats []time.Duration
	var d *rafttimer.Driver
	d = newDriver(t, rafttimer.Options{Time: &p, OnHeartbeat: func(e rafttimer.Event) {
		beats = append(beats, e.Due)
		if len(beats) == 2 {
			p.Advance(60 * ms) // fires the third inside of the second
		}
	}, OnElectionTimeout: func(rafttimer.Event) { d.BecomeLeader() }})
	d.StartElectionTimeout(nil)
	if p.ActiveTimers() != 1 {
		t.Errorf("%d timers", p.ActiveTimers())
	}
	d.StopElectionTimeout()
	if p.ActiveTimers() != 0 {
		t.Errorf("%d timers of a driver that has none", p.ActiveTimers())
	}
	d.BecomeLeader()
	p.Advance(200 * ms)
	if want := []time.Duration{50 * ms, 100 * ms, 150 * ms, 200 * ms}; !slices.Equal(beats, want) {
		t.Errorf("heartbeats at %v, want %v", beats, want)
	}
	d.BecomeFollower()
	p.Advance(300 * ms)
	if d.Role() != rafttimer.Leader {
		t.Errorf("a %v after the election timeout", d.Role())
	}
	d.Close()
	if p.ActiveTimers() != 0 {
		t.Errorf("%d timers after Close", p.ActiveTimers())
	}
}

// afterFuncTime is a TimeProvider on time.AfterFunc: callbacks run each in a goroutine of its own.
type afterFuncTime struct {
	last   atomic.Uint64
	timers sync.Map // TimerID to *time.Timer
}

func (p *afterFuncTime) Now() time.Time { return time.Now() }

func (p *afterFuncTime) SetTimeout(callback func(), delay time.Duration) rafttimer.TimerID {
	id := rafttimer.TimerID(p.last.Add(1))
	p.timers.Store(id, time.AfterFunc(delay, callback))
	return id
}

func (p *afterFuncTime) ClearTimeout(id rafttimer.TimerID) {
	if timer, set := p.timers.LoadAndDelete(id); set {
		timer.(*time.Timer).Stop()
	}
}

// A driver keeps its promises on the callbacks of time.AfterFunc, which may come
// after the stop.
func TestDriverOnAfterFunc(t *testing.T) {
	for range 2000 {
		synctest.Test(t, func(t *testing.T) {
			stopped := false
			d := newDriver(t, rafttimer.Options{Time: &afterFuncTime{}, OnHeartbeat: func(rafttimer.Event) {
				if stopped {
					t.Error("a callback after the stop")
				}
			}})
			d.BecomeLeader()
			time.Sleep(50 * ms)
			d.StopAll()
			stopped = true
			synctest.Wait()
			d.Close()
		})
	}
}
