// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"math/bits"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// run serves the groups until the shard is closed. A handler that ends the goroutine by
// runtime.Goexit, as testing's FailNow does, gets it replaced.
func (s *shard[T]) run() {
	done := false
	defer func() {
		if !done {
			go s.run()
		}
	}()
	for {
		s.serve()
		select {
		case <-s.timer.C:
		case <-s.ended:
			done = true
			close(s.gone)
			return
		}
	}
}

// serve does all that is due, and sets the timer.
func (s *shard[T]) serve() {
	s.turn.LockNow()
	defer s.turn.Unlock()
	s.planned = 0 // the timer is set at the end
	s.deliver()
	for s.noticeSleep(); s.fireDue(); {
	}
	s.planNext()
}

// fireDue tells the groups of a suspend, if there was one, and looks at the wards whose ticks have come. It returns
// true if the clock has stood still meanwhile, so that the groups must be told first.
func (s *shard[T]) fireDue() (again bool) {
	for s.wakeNext() {
	}
	for now := s.mux.Now(); !s.closed; {
		if len(s.entries) == 0 && s.due == 0 {
			if s.noticeSleep(); s.slept != 0 || !s.popEntries(now) {
				return s.slept != 0
			}
		}
		s.lookAround(now)
		if s.due != 0 {
			now = s.fireNext(now)
		}
	}
	return false
}

// popEntries takes a block of entries that are due out of the wheel; it reports false if none is.
func (s *shard[T]) popEntries(now time.Duration) bool {
	s.entries, s.tick = s.wheel.Pop(uint64(now / s.mux.resolution))
	s.prefetch()
	return len(s.entries) > 0
}

// prefetch reads the wards of all entries, one straight after the other, so that the processor
// waits for many at a time. All are cache misses: contacts have written them since.
func (s *shard[T]) prefetch() {
	for _, e := range s.entries {
		w := s.wardAt(e.Index)
		s.sum += w.pulses[0].Load() + int64(w.spans[0])
	}
}

// lookAround looks at one ward after the other until something of one is due.
func (s *shard[T]) lookAround(now time.Duration) {
	for s.due == 0 && len(s.entries) > 0 {
		s.looked = s.entries[0].Index
		s.entries = s.entries[1:]
		if s.wakes[s.looked] != wakeAt(s.tick) {
			continue // an earlier entry has taken its place
		}
		s.wakes[s.looked] = 0
		due, next := s.wardAt(s.looked).look(now)
		s.due = due
		if next != noDeadline {
			s.arm(s.looked, next)
		}
	}
}

// fireNext serves one of the groups that are due, and returns the present time.
func (s *shard[T]) fireNext(now time.Duration) time.Duration {
	i := uint32(bits.TrailingZeros8(s.due))
	s.due &^= 1 << i
	g := s.groups[s.looked*wardSize+i]
	switch deadline, ok := s.wardAt(s.looked).deadline(i); {
	case g == nil || !ok:
	case deadline > now: // a handler has changed it, or a goroutine that the handler waited for
		s.arm(s.looked, deadline)
	case s.fire(g, now):
		return s.mux.Now()
	}
	return now
}

// fire advances a group's machine, and reports whether the handler was called.
func (s *shard[T]) fire(g *Group[T], now time.Duration) bool {
	g.learnContact()
	if deadline, ok := g.machine.NextDeadline(); ok && deadline > now { // a contact has come after the look
		s.settle(g)
		return false
	}
	s.firing, s.events = g, g.machine.Advance(s.buffer[:0], now)
	if len(s.events) > 0 {
		g.pulse.restart(now) // what fires counts from now on
	}
	s.settle(g)
	return s.deliver()
}

// deliver calls the handler for the events of the group that fires, and reports whether it did.
func (s *shard[T]) deliver() (called bool) {
	for len(s.events) > 0 {
		g, e := s.firing, s.events[0]
		s.events = s.events[1:]
		g.learnContact()
		if g.state.Load() != closed && g.machine.IsCurrent(e) { // not so if an earlier event's handler, or a contact meanwhile, changed it
			s.turn.Call(g, func() { s.mux.call(g, e) })
			called = true
		}
	}
	s.firing = nil
	return called
}

// noticeSleep finds out whether the clock has stood still while the machine was suspended.
func (s *shard[T]) noticeSleep() {
	if slept := s.clock.Slept(); slept > s.mux.stall {
		s.slept, s.woken = slept, 0
	}
}

// wakeNext tells one more group that the clock stood still, and returns false once all know.
func (s *shard[T]) wakeNext() bool {
	if s.slept == 0 || s.closed || s.woken == len(s.groups) {
		s.slept = 0
		return false
	}
	g := s.groups[s.woken]
	s.woken++
	if g == nil || g.machine.State() == (rafttimer.TimerState{}) {
		return true
	}
	g.learnContact()
	now := s.mux.Now()
	before, _ := g.machine.NextDeadline()
	s.firing, s.events = g, g.machine.NoteStall(s.buffer[:0], now, s.slept)
	if after, _ := g.machine.NextDeadline(); after != before {
		g.pulse.restart(now) // the stall has put the election timeout off
	}
	g.keepAhead(now)
	s.settle(g)
	s.deliver()
	return true
}

// planNext has the goroutine woken up when there is something to do again.
func (s *shard[T]) planNext() {
	if s.closed {
		return
	}
	if tick, ok := s.wheel.Next(); ok {
		s.plan(tick)
		return
	}
	s.planned = never
	s.timer.Stop()
}
