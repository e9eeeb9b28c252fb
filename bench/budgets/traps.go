// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

const (
	clearedKeys = 50_000
	deletedKeys = 100_000
	hotKeys     = 100
	overwrites  = 3_000
)

// waiter lets the engine's window run out once.
type waiter struct{ done bool }

// wait returns when what was written before is older than the engine's window
// and has had the time to go to the base.
func (w *waiter) wait() error {
	if !w.done {
		time.Sleep(kv.MaxTransactionAge + 2*time.Second)
		w.done = true
	}
	return nil
}

// traps are reads that a naive engine on an LSM tree is slow at.
var traps = measure.Stage{Name: "trap", Open: func(dir string) (*measure.Set, error) {
	engineDir := filepath.Join(dir, "engine")
	db, err := embedded.OpenWith(engineDir, engineOptions)
	if err != nil {
		return nil, err
	}
	raw, err := openPebble(filepath.Join(dir, "pebble"))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	e, p := &engineLanes{db}, &pebbleLanes{raw}
	set := &measure.Set{Close: func() error { return errors.Join(e.db.Close(), raw.Close()) }}
	if err := layLanes(e, p); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	if e.db, err = settle(e.db, engineDir, engineOptions); err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	if err := raw.Flush(); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	set.Contests = append(set.Contests, queueTrap(e, p))
	set.Contests = append(set.Contests, clearedTraps(e, p, engineDir)...)
	set.Contests = append(set.Contests, deletedTrap(e, p))
	set.Contests = append(set.Contests, hotTraps(e, p)...)
	return set, nil
}}

// layLanes writes the lanes that are cleared later, and those that are not.
func layLanes(stores ...laneStore) error {
	for _, s := range stores {
		for lane := range lanes {
			err := errors.Join(
				s.write("cleared", lane, clearedKeys+1, set), s.write("bare", lane, 1, set),
				s.write("deleted", lane, deletedKeys+1, set), s.write("bared", lane, 1, set),
			)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// firstOf reads the first key of a lane, which must be key number i.
func firstOf(s laneStore, name string, lane, i int) error {
	want := laneKey(name, lane, i)
	key, value, err := s.first(laneKey(name, lane, 0), laneKey(name, lane+1, 0))
	if err != nil {
		return err
	}
	if string(key) != string(want) || len(value) != len(trapValue) {
		return fmt.Errorf("the first key of the range is %q, want %q", key, want)
	}
	return nil
}

// queueTrap reads the head of a queue whose other elements came and went in the
// last seconds.
func queueTrap(e *engineLanes, p *pebbleLanes) measure.Contest {
	queue := func(name string, s laneStore, keys, ops int, least float64) measure.Entrant {
		lane := lanes
		return measure.Entrant{
			Name: name, Ops: ops, Least: least,
			Prepare: func() error {
				lane++
				err := s.write("queue", lane, keys+1, set)
				if err != nil {
					return err
				}
				return s.write("queue", lane, keys, clearOf)
			},
			Op: func(*measure.Worker) error { return firstOf(s, "queue", lane, keys) },
		}
	}
	return measure.Contest{
		Name: "trap-queue", Latency: true,
		About: "the first key behind 50,000 that were written and cleared in the last seconds",
		Entrants: []measure.Entrant{
			queue("engine", e, clearedKeys, 200, 0),
			queue("engine, none cleared", e, 0, 20_000, 0.1),
			queue("Pebble", p, clearedKeys, 20, 0),
		},
	}
}

// clearedTraps read the first key behind many that were on disk and were then
// cleared one by one: at once, when the clears have gone to the base, and when
// the engine was opened anew.
func clearedTraps(e *engineLanes, p *pebbleLanes, engineDir string) []measure.Contest {
	var fresh, freshRaw, settled waiter
	just := func(name string, s laneStore, ops int, keys int, least float64) measure.Entrant {
		lane, n := -1, "cleared"
		if keys == 0 {
			n = "bare"
		}
		return measure.Entrant{
			Name: name, Ops: ops, Least: least,
			Prepare: func() error {
				if lane++; lane == lanes {
					return fmt.Errorf("there are keys for %d rounds only", lanes)
				}
				return s.write(n, lane, keys, clearOf)
			},
			Op: func(*measure.Worker) error { return firstOf(s, n, lane, keys) },
		}
	}
	later := func(name string, s laneStore, ops, keys int, least float64, prepare func() error) measure.Entrant {
		n := "cleared"
		if keys == 0 {
			n = "bare"
		}
		return measure.Entrant{
			Name: name, Ops: ops, Least: least, Prepare: prepare,
			Op: func(w *measure.Worker) error { return firstOf(s, n, w.Rand.IntN(lanes), keys) },
		}
	}
	clear := func(w *waiter, s laneStore) func() error {
		return func() error {
			if !w.done {
				if err := clearLanes(s); err != nil {
					return err
				}
			}
			return w.wait()
		}
	}
	reopen := func() error {
		if settled.done {
			return nil
		}
		err := clearLanes(e)
		if err == nil {
			e.db, err = settle(e.db, engineDir, engineOptions)
		}
		settled.done = true
		return err
	}
	return []measure.Contest{
		{
			Name: "trap-cleared", Latency: true, About: "the first key behind 50,000 that were cleared in the last seconds",
			Entrants: []measure.Entrant{
				just("engine", e, 200, clearedKeys, 0), just("engine, none cleared", e, 20_000, 0, 0.1), just("Pebble", p, 20, clearedKeys, 0),
			},
		},
		{
			Name: "trap-cleared-later", Latency: true, About: "the first key behind 50,000 that were cleared six seconds ago",
			Entrants: []measure.Entrant{
				later("engine", e, 200, clearedKeys, 0, clear(&fresh, e)), later("engine, none cleared", e, 20_000, 0, 0.1, nil),
				later("Pebble", p, 20, clearedKeys, 0, clear(&freshRaw, p)),
			},
		},
		{
			Name: "trap-cleared-reopened", Latency: true, About: "the first key behind 50,000 that were cleared before the database was opened",
			Entrants: []measure.Entrant{
				later("engine", e, 200, clearedKeys, 0, reopen), later("engine, none cleared", e, 20_000, 0, 0.1, nil),
			},
		},
	}
}

// clearLanes clears what no round before has cleared.
func clearLanes(s laneStore) error {
	for lane := range lanes {
		if err := s.write("cleared", lane, clearedKeys, clearOf); err != nil {
			return err
		}
	}
	return nil
}

// deletedTrap is the very first read of a large range that was just deleted.
func deletedTrap(e *engineLanes, p *pebbleLanes) measure.Contest {
	deleted := func(name string, s laneStore, n string, keys int, least float64) measure.Entrant {
		lane := -1
		return measure.Entrant{
			Name: name, Ops: 1, Least: least,
			Prepare: func() error {
				lane++
				if keys == 0 {
					return nil
				}
				return s.deleteRange(laneKey(n, lane, 0), laneKey(n, lane, keys))
			},
			Op: func(*measure.Worker) error { return firstOf(s, n, lane, keys) },
		}
	}
	return measure.Contest{
		Name: "trap-deleted", Latency: true, About: "one range of 100,000 keys cleared, then the first read in it",
		Entrants: []measure.Entrant{
			deleted("engine", e, "deleted", deletedKeys, 0), deleted("engine, none cleared", e, "bared", 0, 0.1),
			deleted("Pebble", p, "deleted", deletedKeys, 0),
		},
	}
}

// hotTraps scan keys that were overwritten very often, at once and when they
// have gone to the base.
func hotTraps(e *engineLanes, p *pebbleLanes) []measure.Contest {
	hot := func(name string, s laneStore, n string, times, ops int, least float64) measure.Entrant {
		lane := lanes
		return measure.Entrant{
			Name: name, Ops: ops, Least: least,
			Prepare: func() error {
				lane++
				for range times {
					if err := s.write(n, lane, hotKeys, set); err != nil {
						return err
					}
				}
				return nil
			},
			Op: func(*measure.Worker) error { return scanLane(s, n, lane) },
		}
	}
	later := func(name string, s laneStore, n string, times int, least float64) measure.Entrant {
		var w waiter
		first := hot(name, s, n, times, 1_000, least)
		return measure.Entrant{
			Name: name, Ops: first.Ops, Least: least, Op: first.Op,
			Prepare: func() error {
				if !w.done {
					if err := first.Prepare(); err != nil {
						return err
					}
				}
				return w.wait()
			},
		}
	}
	return []measure.Contest{
		{
			Name: "trap-hot", Latency: true, About: "a scan of 100 keys that were overwritten 3,000 times each",
			Entrants: []measure.Entrant{
				hot("engine", e, "hot", overwrites, 1_000, 0), hot("engine, written once", e, "cool", 1, 1_000, 0.2),
				hot("Pebble", p, "hot", overwrites, 20, 0),
			},
		},
		{
			Name: "trap-hot-later", Latency: true, About: "a scan of 100 keys that were overwritten 3,000 times each, six seconds ago",
			Entrants: []measure.Entrant{
				later("engine", e, "was hot", overwrites, 0), later("engine, written once", e, "was cool", 1, 0.2),
			},
		},
	}
}

func scanLane(s laneStore, name string, lane int) error {
	n, err := s.scan(laneKey(name, lane, 0), laneKey(name, lane+1, 0))
	if err == nil && n != hotKeys {
		err = fmt.Errorf("a scan of %d keys found %d", hotKeys, n)
	}
	return err
}
