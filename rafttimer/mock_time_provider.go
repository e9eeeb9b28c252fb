// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxStandstill is the number of callbacks that may run one after the other
// without the time moving; more are an endless loop.
const maxStandstill = 1_000_000

// MockTimeProvider is a [TimeProvider] whose time stands still until
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

// Advance moves the time by d, and runs the callbacks whose deadlines it passes,
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
