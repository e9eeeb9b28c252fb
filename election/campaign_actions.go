// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// action is something that a candidate wants to be done. run runs in a
// goroutine of its own and does not change the campaign; the function that it
// returns tells the candidate the outcome, in the campaign's goroutine.
type action struct {
	run func() (outcome func(now time.Duration))
}

// startAction begins an action.
func (c *campaign) startAction(do candidate.Action) {
	c.doing = do
	run := map[candidate.Action]func() action{candidate.Look: c.prepareLook, candidate.Claim: c.prepareClaim, candidate.Renew: c.prepareRenewal}[do]().run
	go func() { c.outcome <- run() }()
}

// prepareLook returns the action that reads the name, watches it, and renews
// the registration.
func (c *campaign) prepareLook() action {
	c.self.beats++
	self := c.self
	return action{func() func(time.Duration) {
		var (
			state     leasefdb.State
			watch     kv.Future[struct{}]
			outranked bool
		)
		err := c.transactWatching(c.actions, &watch, func(tx kv.Transaction, watched bool) (err error) {
			if outranked, err = c.register(c.actions, tx, self); err != nil {
				return err
			}
			if watched {
				state, watch, err = c.names.Watch(c.actions, tx, c.name)
				return err
			}
			state, err = c.names.Get(c.actions, tx, c.name)
			return err
		})
		return func(now time.Duration) {
			if err != nil {
				c.updateMetrics(func(m *Metrics) { m.Failures++ })
				c.handleError(now, err)
				return
			}
			c.setWatch(watch, true)
			c.candidate.HandleLook(now, state, outranked)
		}
	}}
}

// prepareClaim returns the action that claims the name, clears the registration
// and watches the grant.
func (c *campaign) prepareClaim() action {
	claim := leasefdb.Claim{Holder: c.options.Candidate, Duration: c.options.Duration, RequestID: c.request, Seen: c.candidate.Seen()}
	self := c.self
	return action{func() func(time.Duration) {
		var (
			grant leasefdb.Grant
			watch kv.Future[struct{}]
		)
		err := c.transactWatching(c.actions, &watch, func(tx kv.Transaction, watched bool) (err error) {
			if grant, err = c.names.Claim(c.actions, tx, c.name, claim); err != nil {
				return err
			}
			if watched {
				if watch, err = grant.Watch(c.actions, tx); err != nil {
					return err
				}
			}
			return c.unregister(c.actions, tx, self)
		})
		return func(now time.Duration) {
			held, taken := leasefdb.HeldBy(err)
			switch {
			case err == nil:
				c.acceptGrant(now, grant, watch, claim.Seen.State().Held())
			case taken:
				c.candidate.HandleRefusal(now, held)
			default:
				c.updateMetrics(func(m *Metrics) { m.Failures++ })
				c.handleError(now, err)
			}
		}
	}}
}

func (c *campaign) acceptGrant(now time.Duration, g leasefdb.Grant, watch kv.Future[struct{}], takeover bool) {
	c.grant = g
	c.setWatch(watch, true)
	if c.candidate.HandleGrant(now, c.grantStart(g)); c.candidate.IsLeading() {
		c.noteTerm(takeover)
	}
}

// grantStart returns the time before the claim, or the renewal, was sent.
func (c *campaign) grantStart(g leasefdb.Grant) time.Duration {
	return g.Deadline().Sub(c.origin) - g.Duration
}

// prepareRenewal returns the action that renews the grant, and watches it if
// there is no watch.
func (c *campaign) prepareRenewal() action {
	ctx, cancel := context.WithDeadline(c.actions, c.origin.Add(c.candidate.Deadline()))
	before, watching := c.grant, c.watching
	return action{func() func(time.Duration) {
		defer cancel()
		var (
			grant leasefdb.Grant
			watch kv.Future[struct{}]
		)
		err := c.transactWatching(ctx, &watch, func(tx kv.Transaction, watched bool) (err error) {
			if grant, err = before.Renew(ctx, tx); err == nil && watched && !watching {
				watch, err = grant.Watch(ctx, tx)
			}
			return err
		})
		return func(now time.Duration) {
			c.noteRenewal(err)
			if err != nil {
				c.handleError(now, err)
				return
			}
			c.grant = grant
			if !watching {
				c.setWatch(watch, true)
			}
			c.candidate.HandleRenewal(now, c.grantStart(grant))
			c.startSweep()
		}
	}}
}

// transactWatching runs fn in a transaction, in which it may set watch, and
// again without one if the engine can give none. Then watch fails with the
// engine's error, and the candidate looks again after a time.
func (c *campaign) transactWatching(ctx context.Context, watch *kv.Future[struct{}], fn func(tx kv.Transaction, watched bool) error) error {
	*watch = neverWatch()
	err := c.db.Transact(ctx, func(tx kv.Transaction) error { return fn(tx, true) })
	if unwatchable(err) {
		*watch = kv.Resolved(struct{}{}, err)
		err = c.db.Transact(ctx, func(tx kv.Transaction) error { return fn(tx, false) })
	}
	return err
}

// startSweep removes old registrations, concurrently with renewals, which must
// not wait for it.
func (c *campaign) startSweep() {
	if !c.sweeping.CompareAndSwap(false, true) {
		return
	}
	term := Term{c.grant}
	c.sweeps.Go(func() {
		defer c.sweeping.Store(false)
		standbys, err := c.sweepRegistrations(c.actions, term, &c.sweeper)
		if err == nil { // else the next sweep tries again
			c.updateMetrics(func(m *Metrics) { m.Standbys = int64(standbys) })
		}
	})
}
