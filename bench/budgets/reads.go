// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// settledReads read data that was on disk before the stores were opened.
var settledReads = measure.Stage{Name: "settled", Section: "reads", Open: func(dir string) (*measure.Set, error) {
	engine, err := settledEngine(filepath.Join(dir, "engine"), engineOptions)
	if err != nil {
		return nil, err
	}
	plain, err := settledEngine(filepath.Join(dir, "plain"), embedded.Options{})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	raw, err := settledPebble(filepath.Join(dir, "pebble"))
	if err != nil {
		return nil, errors.Join(err, engine.Close(), plain.Close())
	}
	rest()
	s := &readStores{engine: engine, plain: plain, raw: raw}
	if err := s.warm(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s.contests("settled", "settled data that was read before"), nil
}}

// recentReads read data that was written in the last seconds: before each round it is written
// again.
var recentReads = measure.Stage{Name: "recent", Section: "reads", Open: func(dir string) (*measure.Set, error) {
	engine, err := embedded.Open(filepath.Join(dir, "engine"), engineOptions)
	if err != nil {
		return nil, err
	}
	raw, err := openPebble(filepath.Join(dir, "pebble"))
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	s := &readStores{
		engine: engine, raw: raw,
		fill:    func() error { return fillEngine(engine, totalKeys) },
		fillRaw: func() error { return fillPebble(raw, totalKeys) },
	}
	return s.contests("recent", "data just written"), nil
}}

// readStores are stores that have the records, or get them from fill.
type readStores struct {
	engine, plain *embedded.Database // plain has the defaults, and may be nil
	raw           *pebble.DB
	fill, fillRaw func() error
}

func (s *readStores) close() error {
	err := errors.Join(s.engine.Close(), s.raw.Close())
	if s.plain != nil {
		err = errors.Join(err, s.plain.Close())
	}
	return err
}

// warm gets every record twice: some caches take a key when it is read again.
func (s *readStores) warm() (err error) {
	var buf []byte
	for i := range 2 * totalKeys {
		i %= totalKeys
		if err == nil {
			err = errors.Join(engineGet(s.engine, &buf, i), engineGet(s.plain, &buf, i), pebbleGet(s.raw, &buf, i))
		}
	}
	return err
}

// contests are those of reading.
func (s *readStores) contests(name, about string) *measure.Set {
	set := &measure.Set{Close: s.close}
	for _, n := range []int{1, 64} {
		get := measure.Contest{
			Name:  fmt.Sprintf("%s-get-%d", name, n),
			About: fmt.Sprintf("transactions of one get, %s, %s", about, goroutines(n)),
			Times: true,
			Entrants: []measure.Entrant{s.get(s.engine, n), {
				Name: "Pebble", Goroutines: n, Ops: 50_000, Elastic: true, Prepare: s.fillRaw, Least: 0.8,
				Op: func(w *measure.Worker) error { return pebbleGet(s.raw, &w.Buf, w.Rand.IntN(totalKeys)) },
			}},
		}
		scan := measure.Contest{
			Name:     fmt.Sprintf("%s-scan-%d", name, n),
			About:    fmt.Sprintf("transactions that scan %d keys, %s, %s", scanned, about, goroutines(n)),
			Entrants: []measure.Entrant{s.scan(s.engine, n), s.scanRaw(n, false), s.scanRaw(n, true)},
		}
		if s.plain != nil {
			get.Entrants = append(get.Entrants, asItComes(s.get(s.plain, n)))
			scan.Entrants = append(scan.Entrants, asItComes(s.scan(s.plain, n)))
		}
		set.Contests = append(set.Contests, get, scan)
	}
	return set
}

func (s *readStores) get(db *embedded.Database, n int) measure.Entrant {
	return measure.Entrant{
		Name: "engine", Goroutines: n, Ops: 50_000, Elastic: true, Prepare: s.fill,
		Op: func(w *measure.Worker) error { return engineGet(db, &w.Buf, w.Rand.IntN(totalKeys)) },
	}
}

// scansOfARound are the operations of a round that is not elastic.
const scansOfARound = 3_000

func (s *readStores) scan(db *embedded.Database, n int) measure.Entrant {
	return measure.Entrant{
		Name: "engine", Goroutines: n, Ops: scansOfARound, Elastic: true, Prepare: s.fill,
		Op: func(w *measure.Worker) error { return engineScan(db, w.Rand.IntN(totalKeys-scanned)) },
	}
}

// scanRaw scans with Pebble's iterator, with or without copying the pairs.
func (s *readStores) scanRaw(n int, copied bool) measure.Entrant {
	e := measure.Entrant{Name: "Pebble", Goroutines: n, Ops: scansOfARound, Elastic: true, Prepare: s.fillRaw, Least: 0.7}
	see := func() func(key, value []byte) { return nil }
	if copied {
		e.Name, e.Least, see = "Pebble, copied", 0, keep
	}
	e.Op = func(w *measure.Worker) error { return pebbleScan(s.raw, w.Rand.IntN(totalKeys-scanned), see()) }
	return e
}

// keep returns a function that copies pairs.
func keep() func(key, value []byte) {
	pairs := make([][2][]byte, 0, scanned)
	return func(key, value []byte) {
		pairs = append(pairs, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
	}
}
