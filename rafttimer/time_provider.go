// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// TimeProvider is the time that a [Driver] goes by: a real clock, or one that a
// test moves by hand. Its methods must be safe for concurrent use. Callbacks call them,
// so that a provider holds no lock while it calls one, and SetTimeout must not call the callback
// before it returns.
type TimeProvider interface {
	// Now returns the present time.
	Now() time.Time
	// SetTimeout calls callback once, after delay; one of zero or less is due at once.
	SetTimeout(callback func(), delay time.Duration) TimerID
	// ClearTimeout cancels a timeout. One that is unknown, was cleared or has
	// fired is ignored. A callback that is under way, or about to begin, is
	// neither stopped nor waited for: the Driver recognises it as stale.
	ClearTimeout(id TimerID)
}

// TimerID names a timeout of a [TimeProvider]. Zero names none.
type TimerID uint64

// maxStandstill is the number of callbacks that may run one after the other
// without the time moving; more are an endless loop.
const maxStandstill = 1_000_000

// MockTimeProvider is a [TimeProvider] with a time that stands still until
// [MockTimeProvider.Advance] moves it. Callbacks run inside Advance, in the
// goroutine that called it, so that a test of one goroutine is deterministic.
// The zero value is ready to use and begins at the start of the year 2000, UTC.
// It is safe for concurrent use, but callbacks that several calls of Advance run at once
// may find a time after their deadlines.
type MockTimeProvider struct {
	mu      sync.Mutex
	elapsed time.Duration // since the beginning
	last    TimerID
	timers  []mockTimer // in the order of deadlines, then of setting
}

type mockTimer struct {
	due      time.Duration
	id       TimerID
	callback func()
}

var mockOrigin = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Now implements [TimeProvider]. In a callback it is the callback's deadline, if only one
// goroutine advances the time.
func (p *MockTimeProvider) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return mockOrigin.Add(p.elapsed)
}

// SetTimeout implements [TimeProvider]. A nil callback panics.
func (p *MockTimeProvider) SetTimeout(callback func(), delay time.Duration) TimerID {
	if callback == nil {
		panic("rafttimer: SetTimeout without a callback")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	t := mockTimer{due: p.timeAfter(max(delay, 0)), id: p.last, callback: callback}
	place, _ := slices.BinarySearchFunc(p.timers, t, mockTimer.compare)
	p.timers = slices.Insert(p.timers, place, t)
	return t.id
}

// timeAfter returns the time that lies delay after the present one, or the latest
// that there is. p.mu is held.
func (p *MockTimeProvider) timeAfter(delay time.Duration) time.Duration {
	if sum := p.elapsed + delay; sum >= p.elapsed {
		return sum
	}
	return 1<<63 - 1
}

func (t mockTimer) compare(u mockTimer) int {
	return cmp.Or(cmp.Compare(t.due, u.due), cmp.Compare(t.id, u.id))
}

// ClearTimeout implements [TimeProvider].
func (p *MockTimeProvider) ClearTimeout(id TimerID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timers = slices.DeleteFunc(p.timers, func(t mockTimer) bool { return t.id == id })
}

// ClearAll cancels all timeouts.
func (p *MockTimeProvider) ClearAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.timers)
	p.timers = p.timers[:0]
}

// ActiveTimers returns the number of timeouts that have neither fired nor been
// cleared.
func (p *MockTimeProvider) ActiveTimers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.timers)
}

// Advance moves the time by d, and runs the callbacks with deadlines that it passes,
// each at its deadline, in the order of deadlines and then of setting. Callbacks
// may set and clear timeouts, which count if they are due before Advance ends,
// and may advance the time themselves: what is due runs inside the inner call,
// and the outer one goes on from the later of the two times.
//
// Time does not run backwards: a negative d panics. So does an endless loop of callbacks
// that set each other without delay.
func (p *MockTimeProvider) Advance(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("rafttimer: Advance by %v: time does not run backwards", d))
	}
	p.mu.Lock()
	target := p.timeAfter(d)
	p.mu.Unlock()
	for standstill, at := 0, time.Duration(-1); ; standstill++ {
		t, ok := p.nextTimer(target)
		if !ok {
			return
		}
		if t.due > at {
			standstill, at = 0, t.due
		}
		if standstill == maxStandstill {
			panic("rafttimer: Advance does not end: callbacks set timeouts without delay for ever")
		}
		t.callback()
	}
}

// nextTimer takes out the timer that is due first, up to target, and moves the time to
// its deadline; if there is none, it moves the time to target.
func (p *MockTimeProvider) nextTimer(target time.Duration) (mockTimer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.timers) == 0 || p.timers[0].due > max(target, p.elapsed) {
		p.elapsed = max(p.elapsed, target)
		return mockTimer{}, false
	}
	t := p.timers[0]
	p.timers = slices.Delete(p.timers, 0, 1)
	p.elapsed = max(p.elapsed, t.due)
	return t, true
}

// alarm wakes a Driver up, once after each set. An alarm that comes too early or
// too often does no harm.
type alarm interface {
	set(delay time.Duration)
	stop()
	// shutDown stops the alarm for ever. The function that it returns waits until what
	// the alarm has started is gone; the caller does so without a lock.
	shutDown() (wait func())
	now() time.Duration // since the alarm was made
	// slept returns how long the clock has stood still since the last call, while
	// the machine was suspended; 0 where that cannot be told.
	slept() time.Duration
}

// systemAlarm is a goroutine with a timer. A channel timer, unlike time.AfterFunc,
// delivers nothing once it was stopped (Go 1.23).
type systemAlarm struct {
	clock systemClock
	timer *time.Timer
	ended chan struct{} // closed by end
	gone  chan struct{} // closed by the goroutine's end
}

func newSystemAlarm(wake func()) *systemAlarm {
	a := &systemAlarm{clock: newClock(), timer: time.NewTimer(maxTimeout), ended: make(chan struct{}), gone: make(chan struct{})}
	a.timer.Stop()
	go a.serveTimer(wake)
	return a
}

// serveTimer wakes the driver up until the alarm ends. A callback that ends the goroutine by
// runtime.Goexit, as testing's FailNow does, gets it replaced.
func (a *systemAlarm) serveTimer(wake func()) {
	done := false
	defer func() {
		if !done {
			go a.serveTimer(wake)
		}
	}()
	for {
		select {
		case <-a.timer.C:
			wake()
		case <-a.ended:
			done = true
			close(a.gone)
			return
		}
	}
}

func (a *systemAlarm) set(delay time.Duration) { a.timer.Reset(delay) }

func (a *systemAlarm) stop() { a.timer.Stop() }

func (a *systemAlarm) now() time.Duration { return a.clock.Now() }

func (a *systemAlarm) slept() time.Duration { return a.clock.Slept() }

func (a *systemAlarm) shutDown() (wait func()) {
	a.timer.Stop()
	close(a.ended)
	return func() { <-a.gone }
}

// systemClock counts the time since it was made. Now is safe for concurrent use. Tests change ahead.
type systemClock struct {
	origin time.Time
	ahead  time.Duration // of the wall clock, since origin, at the last call of Slept
}

// newClock returns a clock that begins at 0.
func newClock() systemClock { return systemClock{origin: time.Now()} }

// Now returns the time since the clock was made. It does not read the wall clock, so that it costs less than time.Now.
func (c *systemClock) Now() time.Duration { return time.Since(c.origin) }

// Slept returns how long the clock has stood still since the last call. It compares the
// wall clock with the monotonic one, which stands still during suspend on Linux and macOS. A wall
// clock that is set ahead looks the same.
func (c *systemClock) Slept() time.Duration {
	now := time.Now()
	lead := now.Round(0).Sub(c.origin.Round(0)) - now.Sub(c.origin)
	slept := lead - c.ahead
	c.ahead = lead
	return slept
}

// providerAlarm is a timeout of a TimeProvider.
type providerAlarm struct {
	origin time.Time
	time   TimeProvider
	wake   func()
	id     TimerID
}

func newProviderAlarm(t TimeProvider, wake func()) *providerAlarm {
	return &providerAlarm{origin: t.Now(), time: t, wake: wake}
}

func (a *providerAlarm) set(delay time.Duration) {
	a.stop()
	a.id = a.time.SetTimeout(a.wake, delay)
}

func (a *providerAlarm) stop() {
	if a.id != 0 {
		a.time.ClearTimeout(a.id)
	}
	a.id = 0
}

func (a *providerAlarm) now() time.Duration { return a.time.Now().Sub(a.origin) }

func (a *providerAlarm) slept() time.Duration { return 0 }

func (a *providerAlarm) shutDown() (wait func()) {
	a.stop()
	return func() {}
}
