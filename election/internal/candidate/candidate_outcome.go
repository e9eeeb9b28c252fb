// SPDX-License-Identifier: Apache-2.0

package candidate

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

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
