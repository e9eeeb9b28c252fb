// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/internal/uptime"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// campaign is one campaign of a candidate, and the term that it wins. Its
// goroutine, that of Run, never blocks for long: each transaction runs in a
// goroutine of its own, one at a time, so that no deadline is missed.
type campaign struct {
	*Election
	candidate *candidate.Candidate
	request   string // the RequestID of its claims
	self      registration

	origin time.Time // time zero
	uptime uptime.Clock
	slept  time.Duration // how long the machine slept since origin, as far as the candidate was told
	timer  *time.Timer

	doing   candidate.Action
	outcome chan func(now time.Duration) // of what is under way
	actions context.Context              // of actions
	cancel  context.CancelFunc

	watch    kv.Future[struct{}]
	watching bool           // watch may fire
	grant    leasefdb.Grant // once the candidate leads

	sweeper  sweeper
	sweeping atomic.Bool
	sweeps   sync.WaitGroup

	vacant time.Duration // how long there was no leader at noted
	noted  time.Duration // when it was
	late   int           // renewals that were noted as late
	failed error         // why it cannot go on
}

// awaitLeadership campaigns until the candidate leads. The error is ctx's, or one after which
// it cannot.
func (c *campaign) awaitLeadership(ctx context.Context) error {
	c.runUntil(ctx.Done(), func() bool { return c.candidate.IsLeading() || c.candidate.Over() != nil })
	if c.failed == nil && ctx.Err() != nil {
		c.awaitClaim()
		return context.Cause(ctx)
	}
	return c.failed
}

// awaitClaim waits for a claim under way, for a lease at most, so that the name is not
// left to a candidate that has gone.
func (c *campaign) awaitClaim() {
	if c.doing == candidate.Claim {
		defer time.AfterFunc(c.options.Duration, c.cancel).Stop()
		c.applyOutcome(<-c.outcome)
	}
}

// lead runs the function that leads, and returns its error unless that follows
// from the end of the term.
func (c *campaign) lead(ctx context.Context, lead func(context.Context, Term) error) (err error) {
	term, done := Term{c.grant}, make(chan struct{})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.setResign(func() { cancel(ErrResigned) })
	defer c.setResign(nil)
	go func() {
		defer close(done)
		err = lead(ctx, term)
	}()
	c.runUntil(done, func() bool { return c.candidate.Over() != nil })
	if over := c.candidate.Over(); over != nil {
		cancel(deposed(c.grant, over))
	}
	<-done
	if ctx.Err() != nil && isConsequence(err) {
		return nil
	}
	return err
}

// cleanUp ends everything that the campaign has begun, releases the name, and
// clears the registration. If the database does not answer within a lease, the
// other candidates wait until the lease has lapsed.
func (c *campaign) cleanUp(ctx context.Context) {
	c.timer.Stop()
	c.cancel()
	if c.doing != candidate.None {
		c.applyOutcome(<-c.outcome)
	}
	c.sweeps.Wait()
	c.watch.Cancel()
	c.noteEnd()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Duration)
	defer cancel()
	_ = c.db.Transact(ctx, func(tx kv.Transaction) error { // what fails lapses by itself
		if c.grant.Epoch > 0 {
			if err := c.grant.Release(ctx, tx); err != nil {
				return err
			}
		}
		return c.unregister(ctx, tx, c.self)
	})
}

// runUntil runs the candidate until stop is closed, reached returns true, or
// the campaign has failed.
func (c *campaign) runUntil(stop <-chan struct{}, reached func() bool) {
	for !reached() && c.failed == nil {
		c.startNext()
		select {
		case <-stop:
			return
		case outcome := <-c.outcome:
			c.applyOutcome(outcome)
		case <-c.watch.Done():
			c.handleWatch()
		case <-c.timer.C:
		}
		c.advanceCandidate()
	}
}

// startNext begins what the candidate wants, and sets the timer.
func (c *campaign) startNext() {
	do, wake, timed := c.candidate.Next()
	c.timer.Stop()
	if timed {
		c.timer.Reset(wake - c.now())
	}
	if do != candidate.None {
		c.startAction(do)
	}
}

func (c *campaign) now() time.Duration { return time.Since(c.origin) }

// applyOutcome tells the candidate the outcome of its action.
func (c *campaign) applyOutcome(outcome func(time.Duration)) {
	c.doing = candidate.None
	outcome(c.now())
}

// advanceCandidate tells the candidate the time, and how long the machine slept.
func (c *campaign) advanceCandidate() {
	at := time.Now()
	now := at.Sub(c.origin)
	if slept := c.uptime.Elapsed(at) - now; slept > c.slept {
		by := slept - c.slept
		c.slept = slept
		c.candidate.HandleSleep(now, by)
	}
	c.candidate.Advance(now)
	c.noteVacancy(now)
}

// handleWatch handles a watch that is ready.
func (c *campaign) handleWatch() {
	_, err := c.watch.Get(c.actions)
	c.setWatch(neverWatch(), false)
	if err != nil {
		c.candidate.HandleNoWatch(c.now())
		return
	}
	c.candidate.HandleChange()
}

func (c *campaign) setWatch(w kv.Future[struct{}], watching bool) {
	c.watch.Cancel()
	c.watch, c.watching = w, watching
}

// handleError tells the candidate of an error, or ends the campaign if the
// error is not transient.
func (c *campaign) handleError(now time.Duration, err error) {
	if !isTransient(err) && !errors.Is(err, ErrDeposed) && !c.candidate.IsLeading() && c.actions.Err() == nil {
		c.failed = err
		return
	}
	c.candidate.HandleFailure(now, err)
}

// noteTerm counts a term that begins.
func (c *campaign) noteTerm(takeover bool) {
	c.updateMetrics(func(m *Metrics) {
		m.Leading, m.Rank = true, c.grant.Epoch
		m.Terms++
		if takeover {
			m.Takeovers++
		}
	})
}

// noteRenewal counts a renewal, and those that were left out before it.
func (c *campaign) noteRenewal(err error) {
	late := c.candidate.Late()
	c.updateMetrics(func(m *Metrics) {
		if err == nil {
			m.Renewals++
		} else {
			m.FailedRenewals++
		}
		m.LateRenewals += int64(late - c.late)
	})
	c.late = late
}

// noteVacancy counts the time without a leader, up to now.
func (c *campaign) noteVacancy(now time.Duration) {
	vacant := c.candidate.VacantFor(now)
	more := vacant - c.vacant
	if vacant == 0 && c.vacant > 0 { // it has just ended
		more = now - c.noted
	}
	if more > 0 {
		c.updateMetrics(func(m *Metrics) { m.Vacant += more })
	}
	c.vacant, c.noted = vacant, now
}

// noteEnd counts the end of a term.
func (c *campaign) noteEnd() {
	c.updateMetrics(func(m *Metrics) {
		switch {
		case !m.Leading:
		case c.candidate.Over() != nil:
			m.Deposed++
		default:
			m.Resigned++
		}
		m.Leading, m.Standbys = false, 0
	})
}
