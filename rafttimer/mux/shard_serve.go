// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"math/bits"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// serveTimer serves the groups until the shard is closed. A handler that ends the goroutine by
// runtime.Goexit, as testing's FailNow does, gets it replaced.
func (s *shard[T]) serveTimer() {
	done := false
	defer func() {
		if !done {
			go s.serveTimer()
		}
	}()
	for {
		s.serveDue()
		select {
		case <-s.timer.C:
		case <-s.ended:
			done = true
			close(s.gone)
			return
		}
	}
}

// serveDue does all that is due, and sets the timer.
func (s *shard[T]) serveDue() {
	s.turn.LockNow()
	defer s.turn.Unlock()
	s.planned = 0 // the timer is set at the end
	s.deliverEvents()
	for s.noticeSleep(); s.fireDue(); {
	}
	s.planNext()
}

// fireDue tells the groups of a suspend, if there was one, and looks at the blocks whose ticks have come. It returns
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

// prefetch reads the blocks of all entries, one straight after the other, so that the processor
// waits for many at a time. All are cache misses: contacts have written them since.
func (s *shard[T]) prefetch() {
	for _, e := range s.entries {
		w := s.blockAt(e.Index)
		s.sum += w.contacts[0].Load() + int64(w.spans[0])
	}
}

// lookAround looks at one block after the other until something of one is due.
func (s *shard[T]) lookAround(now time.Duration) {
	for s.due == 0 && len(s.entries) > 0 {
		s.looked = s.entries[0].Index
		s.entries = s.entries[1:]
		if s.wakes[s.looked] != wakeAt(s.tick) {
			continue // an earlier entry has taken its place
		}
		s.wakes[s.looked] = 0
		due, next := s.blockAt(s.looked).lookUpDue(now)
		s.due = due
		if next != noDeadline {
			s.armBlock(s.looked, next)
		}
	}
}

// fireNext serves one of the groups that are due, and returns the present time.
func (s *shard[T]) fireNext(now time.Duration) time.Duration {
	i := uint32(bits.TrailingZeros8(s.due))
	s.due &^= 1 << i
	g := s.groups[s.looked*blockSize+i]
	switch deadline, ok := s.blockAt(s.looked).deadline(i); {
	case g == nil || !ok:
	case deadline > now: // a handler has changed it, or a goroutine that the handler waited for
		s.armBlock(s.looked, deadline)
	case s.fireGroup(g, now):
		return s.mux.Now()
	}
	return now
}

// fireGroup advances a group's machine, and reports whether the handler was called.
func (s *shard[T]) fireGroup(g *Group[T], now time.Duration) bool {
	g.learnContact()
	if deadline, ok := g.machine.NextDeadline(); ok && deadline > now { // a contact has come after the look
		s.updateBlock(g)
		return false
	}
	s.firing, s.events = g, g.machine.Advance(s.buffer[:0], now)
	if len(s.events) > 0 {
		g.contact.restartAt(now) // what fires counts from now on
	}
	s.updateBlock(g)
	return s.deliverEvents()
}

// deliverEvents calls the handler for the events of the group that fires, and reports whether it did.
func (s *shard[T]) deliverEvents() (called bool) {
	for len(s.events) > 0 {
		g, e := s.firing, s.events[0]
		s.events = s.events[1:]
		g.learnContact()
		if g.state.Load() != closed && g.machine.IsCurrent(e) { // not so if an earlier event's handler, or a contact meanwhile, changed it
			s.turn.Call(g, func() { s.mux.callHandler(g, e) })
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

// wakeNext notes the stall in one more group, and returns false after the last
// one.
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
		g.contact.restartAt(now) // the stall has put the election timeout off
	}
	g.keepAhead(now)
	s.updateBlock(g)
	s.deliverEvents()
	return true
}

// planNext sets the timer for the next entry.
func (s *shard[T]) planNext() {
	if s.closed {
		return
	}
	if tick, ok := s.wheel.Next(); ok {
		s.setTimer(tick)
		return
	}
	s.planned = never
	s.timer.Stop()
}
