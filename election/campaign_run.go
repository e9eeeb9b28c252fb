// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/kv"
)

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
