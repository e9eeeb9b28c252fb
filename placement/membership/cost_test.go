// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// TestCost counts what members and watchers ask of the database: for each member and
// duration three renewals and three looks, whatever the number of members; for each
// watcher a look in six durations; and for a change one transaction each. docs/benchmarks.md
// has the figures.
func TestCost(t *testing.T) {
	for _, c := range []struct{ members, watchers int }{{1, 0}, {10, 0}, {100, 0}, {100, 1000}} {
		if testing.Short() {
			c.members, c.watchers = min(c.members, 30), min(c.watchers, 100)
		}
		t.Run(fmt.Sprintf("%d members, %d watchers", c.members, c.watchers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testCost(t, c.members, c.watchers) })
		})
	}
}

func testCost(t *testing.T, members, watchers int) {
	db := faults.NewCounter(enginetest.InProcess(t))
	registry := open(t, db)
	var joined []*membership.Member
	for i := range members {
		joined = append(joined, must[*membership.Member](t)(registry.Join(ctx, membership.Self{Name: fmt.Sprint("m", i)})))
	}
	var followers []*follower
	for range watchers {
		followers = append(followers, follow(t, db))
	}
	time.Sleep(10 * duration)

	const durations = 30
	still, _ := db.Measure(func() error { time.Sleep(durations * duration); return nil })
	seconds := (durations * duration).Seconds()
	t.Logf("still: %.1f transactions a second: %.1f that write, %.1f that read; %.1f keys read, %.1f written, %.1f ranges read a second",
		float64(still.Begins)/seconds, float64(still.Writes)/seconds, float64(still.Begins-still.Writes)/seconds, float64(still.Gets)/seconds, float64(still.Writes)/seconds, float64(still.Ranges)/seconds)
	n, w := float64(members*durations), float64(watchers*durations)
	atMost := func(what string, got int, most float64) {
		if float64(got) > most {
			t.Errorf("%d %s, want %.0f at most", got, what, most)
		}
	}
	// Pauses are up to a fifth shorter than what they are called.
	atMost("transactions", still.Begins, n*(3+3)*1.25+w/6*1.25+10)
	atMost("writes", still.Writes, n*3*1.25)
	atMost("ranges", still.Ranges, 0)
	atMost("keys read", still.Gets, n*3*(1+5)*1.25+w/6*2*1.25+10)

	change, err := db.Measure(func() error {
		err := joined[0].Drain(ctx)
		time.Sleep(duration)
		return err
	})
	check(t, err)
	t.Logf("a change: %d transactions, %d ranges read within a duration of it", change.Begins, change.Ranges)
	atMost("transactions after a change", change.Begins, float64(members)*8+float64(watchers)*1.3+5)
	atMost("ranges after a change", change.Ranges, float64(members+watchers))
	for _, f := range followers {
		if !f.last.Load().Members[0].Draining {
			t.Fatal("a watcher has not seen the change")
		}
	}
	for _, m := range joined {
		check(t, m.Context().Err())
		leave(m)
	}
}
