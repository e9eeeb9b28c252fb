// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// The contests of [Growth].
const (
	GrowthLoad    = "load"    // synced batches of 1,000 records, in random order
	GrowthGet     = "get"     // 64 goroutines
	GrowthScan    = "scan"    // of 100 keys, 64 goroutines
	GrowthCommit  = "commit"  // of one key, synced, 64 goroutines
	GrowthResolve = "resolve" // commits of one key that is checked for conflicts, not synced, 1 goroutine
)

// Growth measures the engine and Pebble with n records, a power of ten.
func Growth(n int) measure.Stage {
	return measure.Stage{Name: "growth", Open: func(dir string) (*measure.Set, error) {
		engineDir := filepath.Join(dir, "engine")
		engine, err := embedded.Open(engineDir, engineOptions)
		if err != nil {
			return nil, err
		}
		raw, err := openPebble(filepath.Join(dir, "pebble"))
		if err != nil {
			return nil, errors.Join(err, engine.Close())
		}
		loaded, err := load(n, engine, raw)
		if err != nil {
			return nil, errors.Join(err, engine.Close(), raw.Close())
		}
		if err := raw.Flush(); err != nil {
			return nil, errors.Join(err, engine.Close(), raw.Close())
		}
		if engine, err = settle(engine, engineDir, engineOptions); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		g := &grown{n: n, dir: engineDir, engine: engine, raw: raw}
		return &measure.Set{Measured: []measure.Result{loaded}, Contests: g.contests(), Close: func() error {
			return errors.Join(g.engine.Close(), raw.Close())
		}}, nil
	}}
}

// load fills the stores, and measures that once.
func load(n int, engine *embedded.Database, raw *pebble.DB) (measure.Result, error) {
	rate := func(begin time.Time) []float64 { return []float64{float64(n) / time.Since(begin).Seconds()} }
	result := measure.Result{Contest: measure.Contest{
		Name: GrowthLoad, About: "records loaded in synced batches of 1,000", Durable: true,
		Entrants: []measure.Entrant{{Name: "engine"}, {Name: "Pebble"}},
	}}
	begin := time.Now()
	if err := fillEngine(engine, n); err != nil {
		return result, err
	}
	result.Rates = append(result.Rates, rate(begin))
	begin = time.Now()
	if err := fillPebble(raw, n); err != nil {
		return result, err
	}
	result.Rates = append(result.Rates, rate(begin))
	return result, nil
}

// grown are two stores with n records.
type grown struct {
	n      int
	dir    string
	engine *embedded.Database
	raw    *pebble.DB
	lazy   bool // the engine has been opened without syncs
}

func (g *grown) contests() []measure.Contest {
	const n = 64
	contest := func(name, about string, entrants ...measure.Entrant) measure.Contest {
		for i := range entrants {
			entrants[i].Goroutines, entrants[i].Elastic = n, true
			entrants[i].Name = []string{"engine", "Pebble"}[i]
			entrants[i].Least = 0
		}
		return measure.Contest{Name: name, About: about + ", " + goroutines(n), Entrants: entrants}
	}
	return []measure.Contest{
		contest(GrowthGet, "transactions of one get",
			measure.Entrant{Ops: 10_000, Op: func(w *measure.Worker) error { return engineGet(g.engine, &w.Buf, w.Rand.IntN(g.n)) }},
			measure.Entrant{Ops: 10_000, Op: func(w *measure.Worker) error { return pebbleGet(g.raw, &w.Buf, w.Rand.IntN(g.n)) }}),
		contest(GrowthScan, "transactions that scan 100 keys",
			measure.Entrant{Ops: 1_000, Op: func(w *measure.Worker) error { return engineScan(g.engine, w.Rand.IntN(g.n-scanned)) }},
			measure.Entrant{Ops: 1_000, Op: func(w *measure.Worker) error { return pebbleScan(g.raw, w.Rand.IntN(g.n-scanned), nil) }}),
		contest(GrowthCommit, "durable commits of one key",
			commitEngine(g.engine, g.n, n, 5_000), commitPebble(g.raw, g.n, n, 5_000)),
		{Name: GrowthResolve, About: "commits of one key that is checked for conflicts, not synced, 1 goroutine", Entrants: []measure.Entrant{g.resolveContest()}},
	}
}

// resolvedKeys is the number of keys that resolve writes: the same in every store, so that the
// recent writes do not grow with the store.
const resolvedKeys = 10_000

// resolveContest commits without waiting for the disk, which shows the cost of a commit in memory.
func (g *grown) resolveContest() measure.Entrant {
	return measure.Entrant{
		Name: "engine", Ops: 5_000, Elastic: true, Prepare: g.beLazy,
		Op: func(w *measure.Worker) error {
			i := w.Rand.IntN(resolvedKeys) * (g.n / resolvedKeys)
			return g.engine.Transact(ctx, func(tx kv.Transaction) error {
				k := key(&w.Buf, i)
				if err := tx.AddReadConflictKey(k); err != nil {
					return err
				}
				tx.Set(k, value(i))
				return nil
			})
		},
	}
}

// beLazy opens the engine again, without syncs.
func (g *grown) beLazy() (err error) {
	if g.lazy {
		return nil
	}
	o := engineOptions
	o.NoSync = true
	g.engine, err = settle(g.engine, g.dir, o)
	g.lazy = err == nil
	return err
}
