// SPDX-License-Identifier: Apache-2.0

package candidate

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// Advance sets the time to now.
func (c *Candidate) Advance(now time.Duration) {
	if c.endIfLapsed(now) {
		return
	}
	c.events = c.timers.Advance(c.events[:0], now)
	c.handleEvents(now)
	if c.ready > 0 && now >= c.ready && !c.IsLeading() {
		c.ready = 0
		c.claimName(now)
	}
	if c.again > 0 && now >= c.again {
		c.again = 0
		c.schedule(c.checkAction())
	}
}

// HandleSleep says that the process stood still for a time which its clock does not
// show: a leader's deadline is that much nearer, and the beginning of what is under way
// that much longer ago.
func (c *Candidate) HandleSleep(now, by time.Duration) {
	c.slept += by
	if c.IsLeading() {
		c.deadline = max(c.deadline-by, 1)
	}
	c.events = c.timers.NoteStall(c.events[:0], now, by)
	c.handleEvents(now)
	c.endIfLapsed(now)
}

// HandleChange says that a watch has fired: a follower looks again, a leader makes sure
// that it leads.
func (c *Candidate) HandleChange() { c.schedule(c.checkAction()) }

// HandleNoWatch says that no watch could be had: the candidate looks again by itself.
func (c *Candidate) HandleNoWatch(now time.Duration) {
	if !c.IsLeading() { // a leader finds out by its renewals
		c.again = now + c.lease/renewals
	}
}

// checkAction returns the action that reads the present state.
func (c *Candidate) checkAction() Action {
	switch {
	case c.over != nil:
		return None
	case c.IsLeading():
		return Renew
	}
	return Look
}

// endIfLapsed ends the term if its deadline has passed.
func (c *Candidate) endIfLapsed(now time.Duration) bool {
	if !c.IsLeading() || now < c.deadline {
		return false
	}
	c.endTerm(fmt.Errorf("it was not renewed within %v, so others may take it over", c.config.Duration))
	return true
}

// endTerm ends the term.
func (c *Candidate) endTerm(cause error) {
	c.over, c.deadline, c.again, c.ready, c.todo = cause, 0, 0, 0, None
	c.timers.StopAll()
}

func (c *Candidate) handleEvents(now time.Duration) {
	for _, e := range c.events {
		switch {
		case c.IsLeading():
			c.missed += e.Missed
			if c.doing == Renew && e.Kind == rafttimer.Heartbeat {
				c.missed++
			} else {
				c.schedule(Renew)
			}
		case e.Kind == rafttimer.ElectionTimeout && c.doing != Claim:
			c.tryVacancy(now)
		}
	}
}

// tryVacancy claims the name, which is free or whose lease has lapsed. If
// another candidate has a higher priority, it claims later.
func (c *Candidate) tryVacancy(now time.Duration) {
	switch {
	case c.ready > 0:
	case c.outranked && !c.gave:
		c.gave, c.ready = true, now+c.config.Window
	default:
		c.claimName(now)
	}
}

// claimName claims the name.
func (c *Candidate) claimName(now time.Duration) {
	c.timers.BecomeCandidate(now)
	c.schedule(Claim)
}

// followLeader handles the state of another's lease.
func (c *Candidate) followLeader(now time.Duration, state leasefdb.State) {
	before, role := c.seen, c.timers.Role()
	c.seen = c.seen.ObserveAt(state, c.timeAt(now))
	switch known := c.seen == before; {
	case known && role == rafttimer.Follower:
		return
	case known && role == rafttimer.Candidate && c.seen.RemainingAt(c.timeAt(now)) <= 0: // a claim has failed
		c.tryVacancy(now)
		return
	case !known:
		c.vacant, c.gave, c.ready = false, false, 0
	}
	if c.lease == state.Duration && role == rafttimer.Follower {
		c.timers.Contact(now)
		return
	}
	c.setLease(state.Duration)
	c.timers.BecomeFollower(now)
}

// maxLease bounds the duration of another's lease that is believed: a year.
const maxLease = 365 * 24 * time.Hour

// setLease makes timers for a lease of another length.
func (c *Candidate) setLease(d time.Duration) {
	if d = min(max(d, time.Millisecond), maxLease); d == c.lease {
		return
	}
	timers := mustTiming(d, c.config.Window).Machine(c.config.Source)
	c.timers, c.lease = &timers, d
}
