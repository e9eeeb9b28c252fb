// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// firstReads read each key once after the store was opened, so that no cache has it.
var firstReads = measure.Stage{Name: "first", Section: "reads", Open: func(dir string) (*measure.Set, error) {
	stores := []*closedStore{
		{entrant: measure.Entrant{Name: "engine"}, open: func(dir string) (*anyStore, error) { return openAnyEngine(dir, engineOptions) }},
		{entrant: measure.Entrant{Name: "Pebble", Least: 0.85}, open: openTunedPebble},
		{entrant: asItComes(measure.Entrant{}), open: func(dir string) (*anyStore, error) { return openAnyEngine(dir, embedded.Options{}) }},
	}
	set := &measure.Set{Close: func() error { return nil }}
	for _, s := range stores {
		s.dir = filepath.Join(dir, s.entrant.Name)
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	for _, n := range []int{1, 64} {
		c := measure.Contest{
			Name:  fmt.Sprintf("first-get-%d", n),
			About: "transactions of one get, settled data, each key once after opening, " + goroutines(n),
			Times: true,
		}
		for _, s := range stores {
			c.Entrants = append(c.Entrants, s.touch(n))
		}
		set.Contests = append(set.Contests, c)
	}
	return set, nil
}}

// closedStore is a store with all records that is open in the rounds only.
type closedStore struct {
	dir     string
	entrant measure.Entrant
	open    func(dir string) (*anyStore, error)
}

func (c *closedStore) fill() error {
	s, err := c.open(c.dir)
	if err != nil {
		return err
	}
	return errors.Join(s.load(totalKeys), s.close())
}

// touch gets each record once, in no order.
func (c *closedStore) touch(goroutines int) measure.Entrant {
	var s *anyStore
	e := c.entrant
	e.Goroutines, e.Ops = goroutines, totalKeys
	e.Prepare = func() (err error) {
		s, err = c.open(c.dir)
		return err
	}
	e.Op = func(w *measure.Worker) error { return s.get(w, shuffled(w.N, totalKeys)) }
	e.Check = func(int) error { return s.close() }
	return e
}
