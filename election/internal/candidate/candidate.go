// SPDX-License-Identifier: Apache-2.0

// Package candidate decides what one candidate of an election does next. It has no
// clock, no goroutine and no database: its caller gives it the time and the answers
// of the database, and executes what [Candidate.Next] asks for, one action at a
// time:
//
//	action, wake, timed := c.Next()
//	switch action {
//	case candidate.Look: // read the name and watch it; then c.HandleLook(…)
//	case candidate.Claim: // claim it with c.Seen(); then c.HandleGrant(…) or c.HandleRefusal(…)
//	case candidate.Renew: // renew the grant; then c.HandleRenewal(…)
//	}
//	// at the time wake at the latest: c.Advance(now)
//
// So package election and the simulation share the same decisions. Times count from
// an origin that the caller chooses. The timers are those of package rafttimer: a
// follower's election timeout is the lease of the leader and a random part of a
// window, and each renewal that is seen is a contact; a leader's heartbeats are its
// renewals.
//
// A [Candidate] is not safe for concurrent use.
package candidate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// Action is what a candidate wants to be done.
type Action uint8

// Actions.
const (
	None  Action = iota
	Look         // read the name, watch it, and read the other registrations
	Claim        // claim the name; see [Candidate.Seen]
	Renew        // renew the grant, which checks that it is in force
)

// renewals is how often a lease is renewed while it lasts, and retries how often a
// renewal that failed, or a look, could be tried again.
const (
	renewals = 3
	retries  = 12
)

// Config configures a candidate. Its caller has checked it.
type Config struct {
	Request  string        // the RequestID of its claims, of one campaign
	Duration time.Duration // of its lease
	Window   time.Duration // over which candidates spread after a lease has lapsed
	GiveWay  time.Duration // that others have before it claims a name that is free
	Source   rand.Source   // of its election timeouts
	Origin   time.Time     // time zero
}

// Candidate is one candidate in one campaign: from its beginning to the end of
// the term that it wins.
type Candidate struct {
	config Config
	timers *rafttimer.Machine
	lease  time.Duration // of which timers has the times
	events []rafttimer.Event

	todo  Action        // as soon as nothing is under way
	doing Action        // what is under way
	slept time.Duration // while it was
	again time.Duration // when to look or renew without being told; 0: not
	ready time.Duration // when to claim a vacancy; 0: not yet known
	gave  bool          // it has given way in this vacancy

	seen      leasefdb.Observation
	vacant    bool          // the latest look showed that the name has no holder
	freeSince time.Duration // if so
	outranked bool          // another that is registered has a higher priority

	deadline time.Duration // of its leadership; 0: it does not lead
	over     error         // why its term has ended
	missed   int           // renewals
}

// New returns a candidate that wants to look.
func New(c Config, now time.Duration) *Candidate {
	return &Candidate{config: c, timers: newTimers(c.Duration, c), lease: c.Duration, todo: Look, ready: giveWayUntil(now, c.GiveWay), gave: c.GiveWay > 0}
}

func giveWayUntil(now, by time.Duration) time.Duration {
	if by <= 0 {
		return 0
	}
	return now + by
}

// newTimers returns the timers for a leader with a lease that lasts so long: a follower waits for the
// lease and a part of the window, a leader renews three times a lease.
func newTimers(lease time.Duration, c Config) *rafttimer.Machine {
	timers, err := rafttimer.NewMachine(Times(lease, c.Window), c.Source)
	if err != nil {
		panic(err)
	}
	return timers
}

// Times returns the times of a lease and a window: see [rafttimer.Config].
func Times(lease, window time.Duration) rafttimer.Config {
	return rafttimer.Config{
		ElectionTimeoutMin: lease,
		ElectionTimeoutMax: lease + window,
		HeartbeatInterval:  max(lease/renewals, 1),
		StallThreshold:     max(lease/renewals, 1),
	}
}

// Next returns what to do now, if anything, and when to call Advance at the latest,
// if any time is known. What it returns counts as under way until its outcome is
// told.
func (c *Candidate) Next() (do Action, wake time.Duration, timed bool) {
	if c.doing == None {
		c.doing, c.todo, c.slept = c.todo, None, 0
		do = c.doing
	}
	wake, timed = c.timers.NextDeadline()
	for _, t := range [...]time.Duration{c.again, c.ready, c.deadline} {
		if t > 0 && (!timed || t < wake) {
			wake, timed = t, true
		}
	}
	return do, wake, timed
}

// Seen returns what the candidate knows of the lease that it wants to take over.
func (c *Candidate) Seen() leasefdb.Observation { return c.seen }

// IsLeading reports whether the candidate leads: until its deadline, unless it has
// learned that it was deposed before.
func (c *Candidate) IsLeading() bool { return c.deadline > 0 }

// Deadline returns the time until which the candidate leads if its grant is not
// renewed; 0 if it does not lead.
func (c *Candidate) Deadline() time.Duration { return c.deadline }

// Over returns why the term has ended; nil before.
func (c *Candidate) Over() error { return c.over }

// Late returns how many renewals were left out so far because an earlier one was under
// way, or because the process stood still.
func (c *Candidate) Late() int { return c.missed }

// VacantFor returns how long at least, as far as the candidate knows, there has been no leader: since
// it saw that the name is free, or since the lease that it has seen has lapsed; 0 if
// there is a leader.
func (c *Candidate) VacantFor(now time.Duration) time.Duration {
	switch {
	case c.IsLeading() || c.over != nil:
		return 0
	case c.vacant:
		return now - c.freeSince
	case c.seen.State().Held():
		return max(-c.seen.Remaining(c.timeAt(now)), 0)
	}
	return 0
}

func (c *Candidate) timeAt(now time.Duration) time.Time { return c.config.Origin.Add(now) }

// schedule makes an action the next one. A look does not replace a claim.
func (c *Candidate) schedule(a Action) { c.todo = max(c.todo, a) }

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

// tryVacancy claims the name, which is free or has a lapsed lease. If
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
	c.seen = c.seen.Observe(state, c.timeAt(now))
	switch known := c.seen == before; {
	case known && role == rafttimer.Follower:
		return
	case known && role == rafttimer.Candidate && c.seen.Remaining(c.timeAt(now)) <= 0: // a claim has failed
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
	c.timers, c.lease = newTimers(d, c.config), d
}

// HandleLook takes the result of a look: the state of the name, and whether a
// candidate of higher priority is registered.
func (c *Candidate) HandleLook(now time.Duration, state leasefdb.State, outranked bool) {
	c.doing, c.outranked = None, outranked
	switch {
	case c.isOwnClaim(state):
		c.claimName(now) // the reply to a claim was lost: it is granted again
	case state.Held():
		c.followLeader(now, state)
	default:
		if !c.vacant {
			c.vacant, c.freeSince = true, now
		}
		c.seen = leasefdb.Observation{}
		c.timers.StopAll()
		c.tryVacancy(now)
	}
}

// isOwnClaim reports whether a claim of this campaign made the state.
func (c *Candidate) isOwnClaim(state leasefdb.State) bool {
	return state.Held() && state.Request == c.config.Request
}

// HandleGrant takes the grant of a claim that began at a time. The candidate
// leads from now on, unless the lease has lapsed already.
func (c *Candidate) HandleGrant(now, began time.Duration) {
	c.doing, c.todo, c.again, c.ready = None, None, 0, 0
	c.setLease(c.config.Duration)
	began -= c.slept
	if now >= began+c.config.Duration {
		c.schedule(Look)
		return
	}
	c.vacant = false
	c.timers.BecomeLeader(now)
	c.deadline = max(began+c.config.Duration, 1)
	if now-began > c.config.Duration/renewals {
		c.schedule(Renew)
	}
}

// HandleRefusal takes the result of a claim that could not take over another's
// lease.
func (c *Candidate) HandleRefusal(now time.Duration, state leasefdb.State) {
	c.doing, c.todo = None, None
	c.followLeader(now, state)
	c.schedule(Look) // and watch
}

// HandleRenewal takes the result of a renewal that began at a time.
func (c *Candidate) HandleRenewal(now, began time.Duration) {
	c.doing = None
	if c.IsLeading() {
		c.deadline, c.again = max(began-c.slept+c.config.Duration, 1), 0
		c.endIfLapsed(now)
	}
}

// HandleFailure takes the error of the action under way. A leader that has lost
// its lease leads no longer; after other errors the candidate tries again soon.
func (c *Candidate) HandleFailure(now time.Duration, err error) {
	c.doing = None
	switch {
	case c.over != nil:
	case c.IsLeading() && (errors.Is(err, leasefdb.ErrLeaseLost) || errors.Is(err, kv.ErrClosed)):
		c.endTerm(err)
	default:
		c.again = now + max(c.lease/retries, 1)
	}
}
