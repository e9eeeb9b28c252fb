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

// traps are reads that are slow in a naive engine on an LSM tree.
var traps = measure.Stage{Name: "trap", Section: "traps", Open: func(dir string) (*measure.Set, error) {
	t := &trapStores{dir: filepath.Join(dir, "engine"), engine: &engineLanes{}, raw: &pebbleLanes{}}
	var err error
	if t.engine.db, err = embedded.Open(t.dir, engineOptions); err != nil {
		return nil, err
	}
	if t.raw.db, err = openPebble(filepath.Join(dir, "pebble")); err != nil {
		return nil, errors.Join(err, t.engine.db.Close())
	}
	if err := t.layLanes(); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return &measure.Set{Close: t.close, Contests: []measure.Contest{
		t.queue(), t.cleared(), t.clearedLater(), t.clearedReopened(), t.deleted(), t.hot(), t.hotLater(),
	}}, nil
}}

// trapStores are the engine and Pebble, with the lanes of the traps.
type trapStores struct {
	dir    string // of the engine
	engine *engineLanes
	raw    *pebbleLanes
}

func (t *trapStores) close() error { return errors.Join(t.engine.db.Close(), t.raw.db.Close()) }

// layLanes writes the lanes that are cleared later and those that are not, and waits until they
// are on disk.
func (t *trapStores) layLanes() error {
	for _, s := range []laneStore{t.engine, t.raw} {
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
	return errors.Join(t.settleEngine(), t.raw.db.Flush())
}

// settleEngine brings all data to the disk of the engine's base, and opens the engine again.
func (t *trapStores) settleEngine() error {
	db, err := settle(t.engine.db, t.dir, engineOptions)
	if err == nil {
		t.engine.db = db
	}
	return err
}

// newContest compares the engine in the trap with the engine without it; the former may take at
// most so many times as long. It also shows Pebble in the trap. Entrant makes an entrant of
// either kind.
func (t *trapStores) newContest(name, about string, times float64, entrant func(s laneStore, trapped bool) measure.Entrant) measure.Contest {
	engine, none, raw := entrant(t.engine, true), entrant(t.engine, false), entrant(t.raw, true)
	engine.Name, none.Name, raw.Name = "engine", "engine, without", "Pebble"
	none.Least = 1 / times
	return measure.Contest{Name: name, About: about, Latency: true, Entrants: []measure.Entrant{engine, none, raw}}
}

// once returns a function that calls do the first time only.
func once(do func() error) func() error {
	done := false
	return func() error {
		if done {
			return nil
		}
		done = true
		return do()
	}
}

// outlive waits until earlier writes are older than the engine's window, and 2 s more for them to
// go to the base.
func outlive() { time.Sleep(kv.MaxTransactionAge + 2*time.Second) }

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
