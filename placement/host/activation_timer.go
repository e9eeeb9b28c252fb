// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"time"
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
