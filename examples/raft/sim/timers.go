// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kazahana-db/kazahana/internal/schedule"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// timers is a machine on a node's clock, with an alarm, as a rafttimer.Driver is
// by the system's. It implements core.Timers.
type timers struct {
	machine *rafttimer.Machine
	clock   *clock
	world   *schedule.Schedule
	wake    func()

	alarm   time.Duration // true time at which wake is called, if set
	setting int           // number of the latest setting; the call of an earlier one has no effect
	set     bool
	frozen  time.Duration // true time of the latest freeze
	slept   time.Duration // since the last wake, by a clock that was not suspended
	deaf    bool          // for the Mutation NeverContact
	ended   bool

	events [3]rafttimer.Event
}

func (t *timers) Now() time.Duration { return t.clock.now() }

func (t *timers) BecomeFollower() error {
	t.machine.BecomeFollower(t.clock.now())
	return t.setAlarm()
}

func (t *timers) BecomeCandidate() error {
	t.machine.BecomeCandidate(t.clock.now())
	return t.setAlarm()
}

func (t *timers) BecomeLeader() error {
	t.machine.BecomeLeader(t.clock.now())
	return t.setAlarm()
}

// Contact does not change the alarm, which then comes too early.
func (t *timers) Contact() {
	if !t.deaf {
		t.machine.Contact(t.clock.now())
	}
}

// setAlarm sets the alarm to the next deadline, unless it comes earlier. A jump of the clock does not
// change an alarm, as it does not change a timer of the system.
func (t *timers) setAlarm() error {
	deadline, running := t.machine.NextDeadline()
	delay := t.clock.lasts(max(deadline-t.clock.now(), 0))
	if !running || t.set && t.alarm <= t.world.Now()+delay {
		return nil
	}
	t.wakeAfter(delay)
	return nil
}

// wakeAfter sets the alarm, in true time.
func (t *timers) wakeAfter(delay time.Duration) {
	t.setting++
	t.set, t.alarm = true, t.world.Now()+delay
	setting := t.setting
	t.world.After(delay, func() {
		if setting == t.setting && !t.ended {
			t.set = false
			t.wake()
		}
	})
}

// freeze stops the clock and the alarm.
func (t *timers) freeze() {
	t.clock.stop()
	t.frozen = t.world.Now()
	t.setting++
}

// thaw resumes them.
func (t *timers) thaw() {
	t.clock.start()
	t.slept += t.world.Now() - t.frozen
	if t.set {
		t.wakeAfter(t.alarm - t.frozen)
	}
}

// due returns the events that are due.
func (t *timers) due() []rafttimer.Event {
	now := t.clock.now()
	events := t.machine.NoteStall(t.events[:0], now, t.slept)
	t.slept = 0
	return t.machine.Advance(events, now)
}
