// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"fmt"

	"github.com/kazahana-db/kazahana/bench/measure"
)

const (
	clearedKeys = 50_000
	deletedKeys = 100_000

	// clearedTimes is the budget of all traps here: at most so many times the time without the
	// trap.
	clearedTimes = 10
)

// queue reads the head of a queue after all elements before it were added and removed in
// the last seconds.
func (t *trapStores) queue() measure.Contest {
	return t.newContest("trap-queue", "the first key after 50,000 that were written and cleared in the last seconds", clearedTimes,
		func(s laneStore, trapped bool) measure.Entrant {
			name, keys := ifTrapped(trapped, "queue", "short queue")
			lane := lanes
			return measure.Entrant{
				Ops: 20, Elastic: true,
				Prepare: func() error {
					lane++
					if err := s.write(name, lane, keys+1, set); err != nil {
						return err
					}
					return s.write(name, lane, keys, clearOf)
				},
				Op: func(*measure.Worker) error { return firstOf(s, name, lane, keys) },
			}
		})
}

// ifTrapped returns the name of the lanes and how many keys of each are cleared.
func ifTrapped(trapped bool, with, without string) (name string, keys int) {
	if trapped {
		return with, clearedKeys
	}
	return without, 0
}

// cleared reads the first key after many that were on disk and were cleared one by one in the
// last seconds.
func (t *trapStores) cleared() measure.Contest {
	return t.newContest("trap-cleared", "the first key after 50,000 that were cleared in the last seconds", clearedTimes,
		func(s laneStore, trapped bool) measure.Entrant {
			name, keys := ifTrapped(trapped, "cleared", "bare")
			lane := -1
			return measure.Entrant{
				Ops: 20, Elastic: true,
				Prepare: func() error {
					if lane++; lane == lanes {
						return fmt.Errorf("there are keys for %d rounds only", lanes)
					}
					return s.write(name, lane, keys, clearOf)
				},
				Op: func(*measure.Worker) error { return firstOf(s, name, lane, keys) },
			}
		})
}

// clearedLater reads the same when the clears have gone to the base.
func (t *trapStores) clearedLater() measure.Contest {
	return t.afterClears("trap-cleared-later", "the first key after 50,000 that were cleared some seconds ago", func() error {
		outlive()
		return nil
	})
}

// clearedReopened reads the same after the engine was opened again.
func (t *trapStores) clearedReopened() measure.Contest {
	return t.afterClears("trap-cleared-reopened", "the first key after 50,000 that were cleared before the database was opened", t.settleEngine)
}

// afterClears is the contest of reading cleared lanes after a further action on the engine.
func (t *trapStores) afterClears(name, about string, after func() error) measure.Contest {
	return t.newContest(name, about, clearedTimes, func(s laneStore, trapped bool) measure.Entrant {
		name, keys := ifTrapped(trapped, "cleared", "bare")
		e := measure.Entrant{Ops: 20, Elastic: true, Op: func(w *measure.Worker) error {
			return firstOf(s, name, w.Rand.IntN(lanes), keys)
		}}
		if trapped {
			e.Prepare = once(func() error {
				if err := clearLanes(s); err != nil || s != t.engine {
					return err
				}
				return after()
			})
		}
		return e
	})
}

// clearLanes clears lanes that no earlier round has cleared.
func clearLanes(s laneStore) error {
	for lane := range lanes {
		if err := s.write("cleared", lane, clearedKeys, clearOf); err != nil {
			return err
		}
	}
	return nil
}

// deleted is the very first read of a large range that was just deleted.
func (t *trapStores) deleted() measure.Contest {
	return t.newContest("trap-deleted", "one range of 100,000 keys cleared, then the first read in it", clearedTimes,
		func(s laneStore, trapped bool) measure.Entrant {
			name, keys := "bared", 0
			if trapped {
				name, keys = "deleted", deletedKeys
			}
			lane := -1
			return measure.Entrant{
				Ops: 1,
				Prepare: func() error {
					if lane++; lane == lanes {
						return fmt.Errorf("there are keys for %d rounds only", lanes)
					}
					if keys == 0 {
						return nil
					}
					return s.deleteRange(laneKey(name, lane, 0), laneKey(name, lane, keys))
				},
				Op: func(*measure.Worker) error { return firstOf(s, name, lane, keys) },
			}
		})
}
