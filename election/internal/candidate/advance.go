// SPDX-License-Identifier: Apache-2.0

package candidate

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// Advance says that it is now.
func (c *Candidate) Advance(now time.Duration) {
	if c.lapse(now) {
		return
	}
	c.events = c.timers.Advance(c.events[:0], now)
	c.handle(now)
	if c.ready > 0 && now >= c.ready && !c.Leading() {
		c.ready = 0
		c.stand(now)
	}
	if c.again > 0 && now >= c.again {
		c.again = 0
		c.want(c.check())
	}
}

// Slept says that the process stood still for a time which its clock does not
// show: a leader's deadline is that much nearer, and the beginning of what is under way
// that much longer ago.
func (c *Candidate) Slept(now, by time.Duration) {
	c.slept += by
	if c.Leading() {
		c.deadline = max(c.deadline-by, 1)
	}
	c.events = c.timers.NoteStall(c.events[:0], now, by)
	c.handle(now)
	c.lapse(now)
}

// Changed says that a watch has fired: a follower looks again, a leader makes sure
// that it leads.
func (c *Candidate) Changed() { c.want(c.check()) }

// Unwatched says that no watch could be had: the candidate looks again by itself.
func (c *Candidate) Unwatched(now time.Duration) {
	if !c.Leading() { // a leader finds out by its renewals
		c.again = now + c.lease/renewals
	}
}

// check is how a candidate finds out what is the case.
func (c *Candidate) check() Action {
	switch {
	case c.over != nil:
		return None
	case c.Leading():
		return Renew
	}
	return Look
}

// lapse ends the term if its deadline has passed.
func (c *Candidate) lapse(now time.Duration) bool {
	if !c.Leading() || now < c.deadline {
		return false
	}
	c.end(fmt.Errorf("it was not renewed within %v, so others may take it over", c.config.Duration))
	return true
}

// end ends the term.
func (c *Candidate) end(cause error) {
	c.over, c.deadline, c.again, c.ready, c.todo = cause, 0, 0, 0, None
	c.timers.StopAll()
}

func (c *Candidate) handle(now time.Duration) {
	for _, e := range c.events {
		switch {
		case c.Leading():
			c.missed += e.Missed
			if c.doing == Renew && e.Kind == rafttimer.Heartbeat {
				c.missed++
			} else {
				c.want(Renew)
			}
		case e.Kind == rafttimer.ElectionTimeout && c.doing != Claim:
			c.tryVacancy(now)
		}
	}
}

// tryVacancy claims the name, which is free or whose lease has lapsed, after the others
// have had their turn if one of them has a higher priority.
func (c *Candidate) tryVacancy(now time.Duration) {
	switch {
	case c.ready > 0:
	case c.outranked && !c.gave:
		c.gave, c.ready = true, now+c.config.Window
	default:
		c.stand(now)
	}
}

// stand claims the name.
func (c *Candidate) stand(now time.Duration) {
	c.timers.BecomeCandidate(now)
	c.want(Claim)
}

// follow takes note of a leader.
func (c *Candidate) follow(now time.Duration, state leasefdb.State) {
	before, role := c.seen, c.timers.Role()
	c.seen = c.seen.ObserveAt(state, c.time(now))
	switch known := c.seen == before; {
	case known && role == rafttimer.Follower:
		return
	case known && role == rafttimer.Candidate && c.seen.RemainingAt(c.time(now)) <= 0: // a claim has failed
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

// maxLease bounds what is believed of how long another's lease lasts: a year.
const maxLease = 365 * 24 * time.Hour

// setLease has the timers go by a lease of another length.
func (c *Candidate) setLease(d time.Duration) {
	if d = min(max(d, time.Millisecond), maxLease); d == c.lease {
		return
	}
	timers := mustTiming(d, c.config.Window).Machine(c.config.Source)
	c.timers, c.lease = &timers, d
}
