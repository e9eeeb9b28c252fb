// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// commits are durable commits of one random key each.
var commits = measure.Stage{Name: "commit", Section: "commits", Open: func(dir string) (*measure.Set, error) {
	engine, err := embedded.Open(filepath.Join(dir, "engine"), engineOptions)
	if err != nil {
		return nil, err
	}
	plain, err := embedded.Open(filepath.Join(dir, "plain"), embedded.Options{})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	raw, err := openPebble(filepath.Join(dir, "pebble"))
	if err != nil {
		return nil, errors.Join(err, engine.Close(), plain.Close())
	}
	set := &measure.Set{Close: func() error { return errors.Join(engine.Close(), plain.Close(), raw.Close()) }}
	for _, c := range []struct{ goroutines, ops int }{{1, 500}, {64, 10_000}, {256, 20_000}} {
		set.Contests = append(set.Contests, measure.Contest{
			Name:    fmt.Sprintf("commit-%d", c.goroutines),
			About:   fmt.Sprintf("durable commits of one key, %s", goroutines(c.goroutines)),
			Durable: true, Times: true,
			Entrants: []measure.Entrant{
				commitEngine(engine, totalKeys, c.goroutines, c.ops),
				commitPebble(raw, totalKeys, c.goroutines, c.ops),
				asItComes(commitEngine(plain, totalKeys, c.goroutines, c.ops)),
			},
		})
	}
	return set, nil
}}

// asItComes makes an entrant that of the engine with its defaults.
func asItComes(e measure.Entrant) measure.Entrant {
	e.Name, e.Form = "engine, "+plainForm, plainForm
	return e
}

func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

func commitEngine(db *embedded.Database, keys, goroutines, ops int) measure.Entrant {
	var last atomic.Int64 // a record that was written
	return measure.Entrant{
		Name: "engine", Goroutines: goroutines, Ops: ops, Elastic: true,
		Op: func(w *measure.Worker) error {
			i := w.Rand.IntN(keys)
			last.Store(int64(i))
			return db.Transact(ctx, func(tx kv.Transaction) error {
				tx.Set(key(&w.Buf, i), value(i))
				return nil
			})
		},
		Check: func(int) error { return engineGet(db, new([]byte), int(last.Load())) },
	}
}

func commitPebble(db *pebble.DB, keys, goroutines, ops int) measure.Entrant {
	var last atomic.Int64
	return measure.Entrant{
		Name: "Pebble", Goroutines: goroutines, Ops: ops, Elastic: true, Least: 0.8,
		Op: func(w *measure.Worker) error {
			i := w.Rand.IntN(keys)
			last.Store(int64(i))
			b := db.NewBatch()
			if err := b.Set(key(&w.Buf, i), value(i), nil); err != nil {
				return err
			}
			return errors.Join(b.Commit(pebble.Sync), b.Close())
		},
		Check: func(int) error { return pebbleGet(db, new([]byte), int(last.Load())) },
	}
}
