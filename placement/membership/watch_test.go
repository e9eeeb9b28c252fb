// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// TestWatchersConverge lets members join, drain, leave and die at random, while some watchers have no
// watches and others are cut off for a while. Versions only grow for each watcher, and at the end
// all of them know the topology that the database has.
func TestWatchersConverge(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		seed := seed.Of(t)
		rng := rand.New(rand.NewPCG(seed, 0))
		var watchers []*follower
		var databases []*cut
		for i := range 6 {
			databases = append(databases, &cut{Database: db})
			databases[i].noWatches.Store(i%3 == 0)
			watchers = append(watchers, follow(t, databases[i]))
		}
		type process struct {
			db *cut
			*membership.Member
		}
		processes := map[string]process{}
		rounds := 60
		switch {
		case hostile(t) && testing.Short():
			rounds = 8
		case hostile(t) || testing.Short():
			rounds = 12
		}
		for range rounds {
			name := fmt.Sprint("m", rng.IntN(8))
			p, joined := processes[name]
			switch dice := rng.IntN(6); {
			case !joined:
				p.db = &cut{Database: db}
				p.Member = join(t, p.db, name)
				processes[name] = p
			case dice < 2:
				check(t, p.Drain(ctx))
			case dice < 4:
				check(t, p.Leave(ctx))
				delete(processes, name)
			default:
				p.db.off.Store(true)
				delete(processes, name)
			}
			databases[rng.IntN(len(databases))].off.Store(rng.IntN(3) == 0)
			time.Sleep(time.Duration(rng.Int64N(int64(duration))))
		}
		for _, db := range databases {
			db.off.Store(false)
		}
		if len(processes) == 0 { // only members notice that others have died
			processes["last"] = process{&cut{Database: db}, join(t, db, "last")}
		}
		time.Sleep(5 * duration)
		want := must[placement.Topology](t)(open(t, db).Topology(ctx, db))
		if len(want.Members) != len(processes) {
			t.Errorf("the database has %v of %d members", namesOf(&want), len(processes))
		}
		for i, w := range watchers {
			if diff := cmp.Diff(&want, w.last.Load()); diff != "" {
				t.Errorf("watcher %d (-database +watcher):\n%s", i, diff)
			}
		}
	})
}

// TestWithoutWatches checks that changes are seen within a look, three times a duration,
// where the engine gives no watch: the watch fails, or the transaction that asks for it.
func TestWithoutWatches(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T, db kv.Database) {
			blind := &cut{Database: db, refuses: refuses}
			blind.noWatches.Store(true)
			f := follow(t, blind)
			time.Sleep(duration)
			for _, name := range []string{"a", "b", "c"} {
				join(t, db, name)
				time.Sleep(duration/3 + 3*latency)
				if !slices.Contains(f.names(), name) {
					t.Errorf("after a third of a duration %s is not seen", name)
				}
			}
		})
	}
}

// TestLostWatch checks that a watch that is lost delays a change by six durations at
// most.
func TestLostWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		f := follow(t, deaf{db})
		time.Sleep(duration)
		join(t, db, "a")
		time.Sleep(6 * duration)
		f.sees("a")
	})
}

// deaf is a database in which watches never fire.
type deaf struct{ kv.Database }

func (d deaf) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return d.Database.Transact(ctx, func(tx kv.Transaction) error { return fn(deafTx{tx}) })
}

type deafTx struct{ kv.Transaction }

func (deafTx) Watch([]byte) kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }

// TestVersionFell checks that a watcher ends with an error when its topology goes back, and
// that the members are lost, if their directory is removed.
func TestVersionFell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		a, f := join(t, db, "a"), follow(t, db)
		time.Sleep(duration)
		check(t, directory.Root().Remove(ctx, db, []string{"kazahana", "members"}))
		time.Sleep(7 * duration)
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		wantError(t, <-f.ended, membership.ErrVersionFell)
	})
}

// TestWatchEnds checks how a watch ends.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		join(t, db, "a")
		for topology, err := range open(t, db).Watch(ctx) {
			if err != nil || topology.Version != 1 {
				t.Errorf("the first topology is %+v, %v", topology, err)
			}
			break
		}
		ended, cancel := context.WithCancelCause(ctx)
		cancel(errEnough)
		for _, err := range open(t, db).Watch(ended) {
			wantError(t, err, errEnough)
		}
	})
}

var errEnough = fmt.Errorf("enough")

// TestCost counts what members and watchers ask of the database: for each member and
// duration three renewals and three looks, whatever the number of members; for each
// watcher a look in six durations; and for a change one transaction each. docs/benchmarks-parts.md
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
