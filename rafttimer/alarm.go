// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"time"

	"github.com/kazahana-db/kazahana/rafttimer/internal/clock"
)

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
	clock clock.Clock
	timer *time.Timer
	ended chan struct{} // closed by end
	gone  chan struct{} // closed by the goroutine's end
}

func newSystemAlarm(wake func()) *systemAlarm {
	a := &systemAlarm{clock: clock.New(), timer: time.NewTimer(maxTimeout), ended: make(chan struct{}), gone: make(chan struct{})}
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
func (a *systemAlarm) stop()                   { a.timer.Stop() }
func (a *systemAlarm) now() time.Duration      { return a.clock.Now() }
func (a *systemAlarm) slept() time.Duration    { return a.clock.Slept() }

func (a *systemAlarm) shutDown() (wait func()) {
	a.timer.Stop()
	close(a.ended)
	return func() { <-a.gone }
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
