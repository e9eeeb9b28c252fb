// SPDX-License-Identifier: Apache-2.0

package candidate

import (
	"math/rand/v2"
	"time"

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
	timers := mustTiming(c.Duration, c.Window).Machine(c.Source)
	return &Candidate{config: c, timers: &timers, lease: c.Duration, todo: Look, ready: giveWayUntil(now, c.GiveWay), gave: c.GiveWay > 0}
}

func giveWayUntil(now, by time.Duration) time.Duration {
	if by <= 0 {
		return 0
	}
	return now + by
}

// mustTiming returns the times for a leader whose lease lasts so long: a follower waits for the
// lease and a part of the window, a leader renews three times a lease.
func mustTiming(lease, window time.Duration) *rafttimer.Timing {
	timing, err := Times(lease, window).Timing()
	if err != nil {
		panic(err)
	}
	return timing
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
		return max(-c.seen.RemainingAt(c.timeAt(now)), 0)
	}
	return 0
}

func (c *Candidate) timeAt(now time.Duration) time.Time { return c.config.Origin.Add(now) }

// schedule makes an action the next one. A look does not replace a claim.
func (c *Candidate) schedule(a Action) { c.todo = max(c.todo, a) }
