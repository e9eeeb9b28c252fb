// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

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
