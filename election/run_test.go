// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestRunReturns lays out when Run ends, and with what.
func TestRunReturns(t *testing.T) {
	failed := errors.New("the leader failed")
	for name, c := range map[string]struct {
		once  bool
		lead  func(ctx context.Context, db *cut, e *election.Election) error
		want  error
		terms int64
	}{
		"the leader fails":    {false, func(context.Context, *cut, *election.Election) error { return failed }, failed, 1},
		"once, returns":       {true, func(context.Context, *cut, *election.Election) error { return nil }, nil, 1},
		"returns, again":      {false, func(context.Context, *cut, *election.Election) error { return nil }, context.DeadlineExceeded, 0},
		"leads until the end": {false, func(ctx context.Context, _ *cut, _ *election.Election) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded, 1},
		"once, deposed":       {true, func(ctx context.Context, db *cut, _ *election.Election) error { return loseOffice(ctx, db) }, election.ErrDeposed, 1},
		"once, resigns": {true, func(ctx context.Context, _ *cut, e *election.Election) error {
			e.Resign()
			<-ctx.Done()
			return context.Cause(ctx)
		}, nil, 1},
		"deposed, with another failure": {false, func(ctx context.Context, db *cut, _ *election.Election) error { _ = loseOffice(ctx, db); return failed }, failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := &cut{Database: enginetest.InProcess(t)}
				o := short("a")
				o.Once = c.once
				e := newElection(t, db, o)
				ctx, stop := context.WithTimeout(ctx, time.Minute)
				defer stop()
				err := e.Run(ctx, func(ctx context.Context, _ election.Term) error { return c.lead(ctx, db, e) })
				db.off.Store(false)
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("Run returns %v, want %v", err, c.want)
				}
				if m := e.Metrics(); c.terms > 0 && m.Terms != c.terms || c.terms == 0 && m.Terms < 10 {
					t.Errorf("there were %d terms", m.Terms)
				}
				if e.Resign() {
					t.Error("there was a term to end after Run")
				}
			})
		})
	}
}

// loseOffice waits until the leader is deposed.
func loseOffice(ctx context.Context, db *cut) error {
	db.off.Store(true)
	<-ctx.Done()
	db.off.Store(false)
	return ctx.Err()
}

// TestRunsOnce checks that an Election runs once at a time.
func TestRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		terms := make(chan event, 1)
		p := start(t, db, short("a"), terms)
		<-terms
		wantError(t, p.Run(ctx, func(context.Context, election.Term) error { return nil }), election.ErrRunning)
		p.stop(t)
	})
}

// TestClosedDatabase checks that a leader learns that its database was closed, and that Run
// ends.
func TestClosedDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		terms := make(chan event, 1)
		p := start(t, db, short("a"), terms)
		first := <-terms
		check(t, db.Close())
		<-first.ctx.Done()
		wantError(t, context.Cause(first.ctx), election.ErrDeposed)
		wantError(t, context.Cause(first.ctx), kv.ErrClosed)
		wantError(t, <-p.ended, kv.ErrClosed)
	})
}

// TestSlowLeader checks that a leader that does not return when it has resigned keeps the
// office until it does, and that others wait.
func TestSlowLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		a := newElection(t, db, short("a"))
		running, stop := context.WithCancel(ctx)
		ended := make(chan error)
		leads, left := make(chan bool), make(chan time.Time, 1)
		go func() {
			ended <- a.Run(running, func(ctx context.Context, _ election.Term) error {
				leads <- true
				<-ctx.Done()
				time.Sleep(5 * lease) // cleans up
				left <- time.Now()
				return nil
			})
		}()
		<-leads
		terms := make(chan event, 10)
		b := start(t, db, short("b"), terms)
		time.Sleep(time.Minute)
		stop()
		if next := <-terms; !next.at.Equal(<-left) {
			t.Error("b did not lead when a had returned")
		}
		wantError(t, <-ended, context.Canceled)
		b.stop(t)
	})
}

// TestValidate checks that all faults are told at once.
func TestValidate(t *testing.T) {
	err := election.Options{
		Candidate: "\xff", Duration: -1, ElectionTimeout: math.MaxInt64, Priority: math.MinInt32, Path: []string{},
	}.Validate()
	for _, want := range []string{"Candidate", "Duration", "ElectionTimeout", "Priority", "Path"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s: %v", want, err)
		}
	}
	check(t, election.Options{}.Validate())
	for _, d := range []time.Duration{time.Millisecond, 366 * 24 * time.Hour} {
		if (election.Options{Duration: d}).Validate() == nil {
			t.Errorf("a Duration of %v", d)
		}
	}
	db := enginetest.Open(t)
	for _, name := range []string{"", "\xff", strings.Repeat("x", 2000)} {
		if _, err := election.New(db, name, election.Options{}); err == nil {
			t.Errorf("the name %q", name)
		}
	}
	if _, err := election.New(nil, "job", election.Options{}); err == nil {
		t.Error("no database")
	}
	if e := newElection(t, db, election.Options{}); e.Run(ctx, nil) == nil {
		t.Error("no function that leads")
	}
}

// TestMetrics checks what is counted over a takeover.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		dying := &cut{Database: db}
		terms := make(chan event, 10)
		a := start(t, dying, short("a"), terms)
		first := <-terms
		b := start(t, db, short("b"), terms)
		time.Sleep(time.Minute)
		dying.off.Store(true)
		<-first.ctx.Done()
		lapsed := time.Now()
		next := <-terms
		m := b.Metrics()
		if !m.Leading || m.Rank != next.term.Rank() || m.Terms != 1 || m.Takeovers != 1 || m.Vacant > window/2 || m.Vacant <= 0 || m.Vacant != next.at.Sub(lapsed) {
			t.Errorf("b: %+v", m)
		}
		dying.off.Store(false)
		a.stop(t)
		if m := a.Metrics(); m.Terms != 1 || m.Takeovers != 0 || m.Deposed != 1 || m.Renewals < 17 || m.Renewals > 18 || m.FailedRenewals == 0 || m.LateRenewals == 0 || m.Leading {
			t.Errorf("a: %+v", m)
		}
		b.stop(t)
		if m := b.Metrics(); m.Leading || m.Resigned != 1 {
			t.Errorf("b at the end: %+v", m)
		}
	})
}

// TestObserve checks that an observer sees each leader with its rank, the gap after a
// resignation, and that after a crash, at once or when the lease has lapsed.
func TestObserve(t *testing.T) {
	for name, blind := range map[string]bool{"watch": false, "no watches": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := enginetest.InProcess(t)
				eyes := &cut{Database: db}
				eyes.noWatches.Store(blind)
				patience := time.Duration(0)
				if blind {
					patience = lease / 3
				}
				watching, stop := context.WithCancelCause(ctx)
				seen := make(chan election.Status, 10)
				ended := make(chan error)
				go func() {
					for status, err := range newElection(t, eyes, short("observer")).Observe(watching) {
						if err != nil {
							ended <- err
							return
						}
						seen <- status
					}
				}()
				want := func(when string, within time.Duration, want election.Status) {
					t.Helper()
					began := time.Now()
					if got := <-seen; got != want || time.Since(began) > within+patience {
						t.Errorf("%s: %+v after %v, want %+v", when, got, time.Since(began), want)
					}
				}
				want("at first", 0, election.Status{})
				terms := make(chan event, 10)
				dying := &cut{Database: db}
				options := short("a")
				options.ElectionTimeout = lease / 2 // longer than an observer without a watch looks away
				a := start(t, dying, options, terms)
				want("a leads", 0, election.Status{Leader: "a", Rank: 1})
				time.Sleep(5 * time.Minute)
				a.Resign()
				want("it has resigned", 0, election.Status{Rank: 1})
				want("it leads again", options.ElectionTimeout, election.Status{Leader: "a", Rank: 2})
				dying.off.Store(true)
				want("it has died", lease, election.Status{Rank: 2})
				dying.off.Store(false)
				want("it lives", 2*lease, election.Status{Leader: "a", Rank: 3})
				a.stop(t)
				want("it has ended", 0, election.Status{Rank: 3})
				stop(errKilled)
				wantError(t, <-ended, errKilled)
			})
		})
	}
}

// TestObserveEnds checks that a loop over the observation may end at any time, and that
// an error that will not pass ends it.
func TestObserveEnds(t *testing.T) {
	db := enginetest.Open(t)
	for range newElection(t, db, election.Options{}).Observe(ctx) {
		break
	}
	closed := enginetest.InProcess(t)
	e := newElection(t, closed, election.Options{})
	check(t, closed.Close())
	for _, err := range e.Observe(ctx) {
		wantError(t, err, kv.ErrClosed)
	}
	wantError(t, e.Run(ctx, func(context.Context, election.Term) error { return nil }), kv.ErrClosed)
}
