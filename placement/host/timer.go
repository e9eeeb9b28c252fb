// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

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

// After runs fn once, d from now, between the calls of the activation. Its context ends with the
// activation. A timer is no use of the activation: it does not keep it from being
// idle. To be woken later, store when, and look in the factory.
func (a *Activation) After(d time.Duration, fn func(ctx context.Context)) *Timer {
	return a.startTimer(d, 0, fn)
}

// Every runs fn again and again like [Activation.After], d after the start and after the end
// of each run. d is at least a millisecond: less is taken for that.
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
	m := a.extend()
	if m.timers == nil {
		m.timers = make(map[*Timer]struct{})
	}
	m.timers[t] = struct{}{}
	t.alarm = time.AfterFunc(d, t.fire)
	return t
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
		delete(t.activation.extend().timers, t)
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
	a.push(&t.message)
}

// run implements [work].
func (t *Timer) run(a *Activation) {
	defer t.rearm()
	if !t.begin() {
		return
	}
	ctx, end := a.within(context.Background(), []placement.Key{a.Key()})
	defer end()
	a.notePanic(a.guard("a timer", func() error { t.fn(ctx); return nil }))
}

// refuse implements [work].
func (t *Timer) refuse(error) {}

// begin reports whether the timer is to run. After its activation began to end
// it is not.
func (t *Timer) begin() bool {
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
