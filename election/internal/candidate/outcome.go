// SPDX-License-Identifier: Apache-2.0

package candidate

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Looked tells what a look showed: the state of the name, and whether a candidate of
// higher priority is registered.
func (c *Candidate) Looked(now time.Duration, state leasefdb.State, outranked bool) {
	c.doing, c.outranked = None, outranked
	switch {
	case c.mine(state):
		c.stand(now) // the reply to a claim was lost: it is granted again
	case state.Held():
		c.follow(now, state)
	default:
		if !c.vacant {
			c.vacant, c.freeSince = true, now
		}
		c.seen = leasefdb.Observation{}
		c.timers.StopAll()
		c.tryVacancy(now)
	}
}

// mine reports whether the state is what a claim of this campaign made.
func (c *Candidate) mine(state leasefdb.State) bool {
	return state.Held() && state.Request == c.config.Request
}

// Granted tells that a claim, which began at a time, was granted. The candidate
// leads from now on, unless the lease has lapsed already.
func (c *Candidate) Granted(now, began time.Duration) {
	c.doing, c.todo, c.again, c.ready = None, None, 0, 0
	c.setLease(c.config.Duration)
	began -= c.slept
	if now >= began+c.config.Duration {
		c.want(Look)
		return
	}
	c.vacant = false
	c.timers.BecomeLeader(now)
	c.deadline = max(began+c.config.Duration, 1)
	if now-began > c.config.Duration/renewals {
		c.want(Renew)
	}
}

// Refused tells that a claim found another's lease, which it could not take over.
func (c *Candidate) Refused(now time.Duration, state leasefdb.State) {
	c.doing, c.todo = None, None
	c.follow(now, state)
	c.want(Look) // and watch
}

// Renewed tells that a renewal, which began at a time, was made.
func (c *Candidate) Renewed(now, began time.Duration) {
	c.doing = None
	if c.Leading() {
		c.deadline, c.again = max(began-c.slept+c.config.Duration, 1), 0
		c.lapse(now)
	}
}

// Failed tells that the action under way has failed. A leader that has lost its
// lease leads no longer; anything else is tried again soon.
func (c *Candidate) Failed(now time.Duration, err error) {
	c.doing = None
	switch {
	case c.over != nil:
	case c.Leading() && (errors.Is(err, leasefdb.ErrLeaseLost) || errors.Is(err, kv.ErrClosed)):
		c.end(err)
	default:
		c.again = now + max(c.lease/retries, 1)
	}
}
