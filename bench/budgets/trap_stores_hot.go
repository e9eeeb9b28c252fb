// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"fmt"

	"github.com/kazahana-db/kazahana/bench/measure"
)

const (
	hotKeys    = 100
	overwrites = 3_000

	// hotTimes is the budget: at most so many times the time for keys that were written once.
	hotTimes = 5
)

// hot scans keys that are overwritten very often before each round.
func (t *trapStores) hot() measure.Contest {
	return t.newContest("trap-hot", "a scan of 100 keys that were overwritten 3,000 times each", hotTimes,
		func(s laneStore, trapped bool) measure.Entrant { return heat(s, "hot", trapped) })
}

// hotLater scans such keys after they have gone to the base.
func (t *trapStores) hotLater() measure.Contest {
	return t.newContest("trap-hot-later", "a scan of 100 keys that were overwritten 3,000 times each, some seconds ago", hotTimes,
		func(s laneStore, trapped bool) measure.Entrant {
			e := heat(s, "was hot", trapped)
			prepare := e.Prepare
			e.Prepare = once(func() error {
				defer outlive()
				return prepare()
			})
			return e
		})
}

// heat overwrites the keys of a lane very often, or writes them once, and scans
// them.
func heat(s laneStore, name string, often bool) measure.Entrant {
	times := 1
	if often {
		times = overwrites
	}
	name = fmt.Sprintf("%s %d", name, times)
	lane := -1
	return measure.Entrant{
		Ops: 20, Elastic: true,
		Prepare: func() error {
			lane++
			for range times {
				if err := s.write(name, lane, hotKeys, set); err != nil {
					return err
				}
			}
			return nil
		},
		Op: func(*measure.Worker) error {
			n, err := s.scan(laneKey(name, lane, 0), laneKey(name, lane+1, 0))
			if err == nil && n != hotKeys {
				err = fmt.Errorf("a scan of %d keys found %d", hotKeys, n)
			}
			return err
		},
	}
}
