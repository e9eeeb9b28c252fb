// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"crypto/rand"
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
// goroutine, that of Run, does nothing that may last: a transaction runs in a
// goroutine of its own, one at a time, so that no deadline is missed for it.
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

	vacant time.Duration // how long there had been no leader, when that was noted
	noted  time.Duration // when it was
	late   int           // renewals that were noted as late
	failed error         // why it cannot go on
}

// run campaigns and leads again and again.
func (e *Election) run(ctx context.Context, lead func(context.Context, Term) error) error {
	giveWay := time.Duration(0)
	for {
		c := e.newCampaign(ctx, giveWay)
		err := c.runFor(ctx)
		served := err == nil && c.candidate.Over() == nil // else it was over before it could begin
		if served {
			err = c.serve(ctx, lead)
		}
		c.end(ctx)
		over := c.candidate.Over()
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !served || !e.options.Once:
		case over != nil:
			return deposed(c.grant, over)
		default:
			return nil
		}
		giveWay = 0
		if over == nil { // it has resigned
			giveWay = e.options.ElectionTimeout
		}
	}
}

func (e *Election) newCampaign(ctx context.Context, giveWay time.Duration) *campaign {
	c := &campaign{
		Election: e, request: rand.Text(), origin: time.Now(), uptime: uptime.New(),
		self:    registration{Standby: Standby{e.options.Candidate, e.options.Priority}, member: rand.Text()},
		timer:   time.NewTimer(0),
		outcome: make(chan func(time.Duration), 1),
		watch:   unwatched(),
	}
	c.actions, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.candidate = candidate.New(candidate.Config{
		Request: c.request, Duration: e.options.Duration, Window: max(e.options.ElectionTimeout/2, 1),
		GiveWay: giveWay, Source: e.options.Source, Origin: c.origin,
	}, 0)
	return c
}

// runFor campaigns until the candidate leads. The error is ctx's, or one after which
// it cannot.
func (c *campaign) runFor(ctx context.Context) error {
	c.until(ctx.Done(), func() bool { return c.candidate.Leading() || c.candidate.Over() != nil })
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
		c.apply(<-c.outcome)
	}
}

// serve has the function lead, and returns its error if that is no consequence of the
// end of its term.
func (c *campaign) serve(ctx context.Context, lead func(context.Context, Term) error) (err error) {
	term, done := Term{c.grant}, make(chan struct{})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.setResign(func() { cancel(ErrResigned) })
	defer c.setResign(nil)
	go func() {
		defer close(done)
		err = lead(ctx, term)
	}()
	c.until(done, func() bool { return c.candidate.Over() != nil })
	if over := c.candidate.Over(); over != nil {
		cancel(deposed(c.grant, over))
	}
	<-done
	if ctx.Err() != nil && follows(err) {
		return nil
	}
	return err
}

// end ends everything that the campaign has begun, gives the name back, and takes
// the registration away. If the database does not answer within a lease, others wait
// for as long.
func (c *campaign) end(ctx context.Context) {
	c.timer.Stop()
	c.cancel()
	if c.doing != candidate.None {
		c.apply(<-c.outcome)
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

// until runs the candidate until stop is closed, or what is asked for is reached, or
// it cannot go on.
func (c *campaign) until(stop <-chan struct{}, reached func() bool) {
	for !reached() && c.failed == nil {
		c.next()
		select {
		case <-stop:
			return
		case outcome := <-c.outcome:
			c.apply(outcome)
		case <-c.watch.Done():
			c.fired()
		case <-c.timer.C:
		}
		c.advance()
	}
}

// next begins what the candidate wants, and sets the timer.
func (c *campaign) next() {
	do, wake, timed := c.candidate.Next()
	c.timer.Stop()
	if timed {
		c.timer.Reset(wake - c.now())
	}
	if do != candidate.None {
		c.start(do)
	}
}

func (c *campaign) now() time.Duration { return time.Since(c.origin) }

// apply tells the candidate the outcome of what was under way.
func (c *campaign) apply(outcome func(time.Duration)) {
	c.doing = candidate.None
	outcome(c.now())
}

// advance tells the candidate the time, and how long the machine slept.
func (c *campaign) advance() {
	at := time.Now()
	now := at.Sub(c.origin)
	if slept := c.uptime.Elapsed(at) - now; slept > c.slept {
		by := slept - c.slept
		c.slept = slept
		c.candidate.Slept(now, by)
	}
	c.candidate.Advance(now)
	c.noteVacancy(now)
}

// fired follows a watch that is ready.
func (c *campaign) fired() {
	_, err := c.watch.Get(c.actions)
	c.setWatch(unwatched(), false)
	if err != nil {
		c.candidate.Unwatched(c.now())
		return
	}
	c.candidate.Changed()
}

func (c *campaign) setWatch(w kv.Future[struct{}], watching bool) {
	c.watch.Cancel()
	c.watch, c.watching = w, watching
}

// fail tells the candidate of an error, or ends the campaign for one that will not
// pass.
func (c *campaign) fail(now time.Duration, err error) {
	if !passing(err) && !errors.Is(err, ErrDeposed) && !c.candidate.Leading() && c.actions.Err() == nil {
		c.failed = err
		return
	}
	c.candidate.Failed(now, err)
}
