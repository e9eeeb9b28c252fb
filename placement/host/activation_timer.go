// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// After runs fn once, d from now, between the calls of the activation. Its context ends with the
// activation. A timer does not count as a use: an activation with timers can be idle and
// end. A program that needs a wake-up after that stores its time and reads it in the factory.
func (a *Activation) After(d time.Duration, fn func(ctx context.Context)) *Timer {
	return a.startTimer(d, 0, fn)
}

// Every runs fn again and again like [Activation.After], d after the start and after the end
// of each run. A d below a millisecond counts as one.
func (a *Activation) Every(d time.Duration, fn func(ctx context.Context)) *Timer {
	d = max(d, time.Millisecond)
	return a.startTimer(d, d, fn)
}

func (a *Activation) startTimer(d, period time.Duration, fn func(context.Context)) *Timer {
	t := &Timer{activation: a, period: period, fn: fn}
	t.work = t
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase > active {
		t.stopped = true
		return t
	}
	m := a.ensureExtension()
	if m.timers == nil {
		m.timers = make(map[*Timer]struct{})
	}
	m.timers[t] = struct{}{}
	t.alarm = time.AfterFunc(d, t.fire)
	return t
}

// Timer runs a function of an activation later. It ends with the activation.
type Timer struct {
	message
	activation *Activation
	period     time.Duration // 0: once
	fn         func(context.Context)
	alarm      *time.Timer
	queued     bool // in the mailbox, or running
	stopped    bool
}

// Stop ends the timer. A run that has begun goes on.
func (t *Timer) Stop() {
	t.activation.mu.Lock()
	defer t.activation.mu.Unlock()
	t.stop()
}

// stop ends the timer. The caller holds the activation's mutex.
func (t *Timer) stop() {
	t.stopped = true
	if t.alarm != nil {
		t.alarm.Stop()
		delete(t.activation.ensureExtension().timers, t)
	}
}

// fire puts the timer into the mailbox.
func (t *Timer) fire() {
	a := t.activation
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.stopped || t.queued || a.phase > active {
		return
	}
	t.queued = true
	a.pushMessage(&t.message)
}

// run implements [work].
func (t *Timer) run(a *Activation) {
	defer t.rearm()
	if !t.mayRun() {
		return
	}
	ctx, end := a.contextFor(context.Background(), []placement.Key{a.Key()})
	defer end()
	err := a.catchPanic("a timer", func() error { t.fn(ctx); return nil })
	a.notePanic(err)
	a.noteUnknown(err)
}

// refuse implements [work].
func (t *Timer) refuse(error) {}

// mayRun reports whether the timer is to run. After its activation began to end
// it is not.
func (t *Timer) mayRun() bool {
	t.activation.mu.Lock()
	defer t.activation.mu.Unlock()
	return !t.stopped && t.activation.phase <= active
}

// rearm sets the alarm for the next run, if there is one.
func (t *Timer) rearm() {
	t.activation.mu.Lock()
	defer t.activation.mu.Unlock()
	t.queued = false
	switch {
	case t.stopped || t.period == 0 || t.activation.phase > active:
		t.stop()
	default:
		t.alarm.Reset(t.period)
	}
}
