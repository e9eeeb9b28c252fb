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
	a.notePanic(a.catchPanic("a timer", func() error { t.fn(ctx); return nil }))
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
