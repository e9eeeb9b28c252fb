// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"sync"
	"sync/atomic"
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

// SystemTimeProvider is the system's clock. Callbacks run each in a goroutine of
// its own. The zero value is ready to use. A Driver without a TimeProvider goes by
// the same clock and needs one goroutine and one timer for all of its timeouts.
type SystemTimeProvider struct {
	last   atomic.Uint64
	timers sync.Map // TimerID to *time.Timer; only those that have not fired
}

// Now implements [TimeProvider].
func (p *SystemTimeProvider) Now() time.Time { return time.Now() }

// SetTimeout implements [TimeProvider].
func (p *SystemTimeProvider) SetTimeout(callback func(), delay time.Duration) TimerID {
	id := TimerID(p.last.Add(1))
	ready := make(chan struct{})
	timer := time.AfterFunc(delay, func() {
		<-ready
		if _, set := p.timers.LoadAndDelete(id); set {
			callback()
		}
	})
	p.timers.Store(id, timer)
	close(ready)
	return id
}

// ClearTimeout implements [TimeProvider].
func (p *SystemTimeProvider) ClearTimeout(id TimerID) {
	if timer, set := p.timers.LoadAndDelete(id); set {
		timer.(*time.Timer).Stop()
	}
}
