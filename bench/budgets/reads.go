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
var settledReads = measure.Stage{Name: "settled", Open: func(dir string) (*measure.Set, error) {
	engine, err := settledEngine(filepath.Join(dir, "engine"))
	if err != nil {
		return nil, err
	}
	raw, err := settledPebble(filepath.Join(dir, "pebble"))
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return reads("settled", "settled data", engine, raw, nil, nil), nil
}}

// recentReads read data that was written in the last seconds: before each round it is written
// again.
var recentReads = measure.Stage{Name: "recent", Open: func(dir string) (*measure.Set, error) {
	engine, err := embedded.Open(filepath.Join(dir, "engine"), engineOptions)
	if err != nil {
		return nil, err
	}
	raw, err := openPebble(filepath.Join(dir, "pebble"))
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	fill := func() error { return fillEngine(engine, totalKeys) }
	fillRaw := func() error { return fillPebble(raw, totalKeys) }
	return reads("recent", "data just written", engine, raw, fill, fillRaw), nil
}}

// reads are the contests of reading on two stores that have the records, or get them from
// fill.
func reads(name, about string, engine *embedded.Database, raw *pebble.DB, fill, fillRaw func() error) *measure.Set {
	set := &measure.Set{Close: func() error { return errors.Join(engine.Close(), raw.Close()) }}
	for _, n := range []int{1, 64} {
		gets, scans := 50_000, 3_000
		set.Contests = append(set.Contests, measure.Contest{
			Name:  fmt.Sprintf("%s-get-%d", name, n),
			About: fmt.Sprintf("transactions of one get, %s, %s", about, goroutines(n)),
			Entrants: []measure.Entrant{
				{Name: "engine", Goroutines: n, Ops: gets, Elastic: true, Prepare: fill, Op: func(w *measure.Worker) error {
					return engineGet(engine, &w.Buf, w.Rand.IntN(totalKeys))
				}},
				{Name: "Pebble, get", Goroutines: n, Ops: gets, Elastic: true, Prepare: fillRaw, Least: 0.8, Op: func(w *measure.Worker) error {
					return pebbleGet(raw, &w.Buf, w.Rand.IntN(totalKeys))
				}},
			},
		}, measure.Contest{
			Name:  fmt.Sprintf("%s-scan-%d", name, n),
			About: fmt.Sprintf("transactions that scan %d keys, %s, %s", scanned, about, goroutines(n)),
			Entrants: []measure.Entrant{
				{Name: "engine", Goroutines: n, Ops: scans, Elastic: true, Prepare: fill, Op: func(w *measure.Worker) error {
					return engineScan(engine, w.Rand.IntN(totalKeys-scanned))
				}},
				{Name: "Pebble, iterator", Goroutines: n, Ops: scans, Elastic: true, Prepare: fillRaw, Least: 0.7, Op: func(w *measure.Worker) error {
					return pebbleScan(raw, w.Rand.IntN(totalKeys-scanned), nil)
				}},
				{Name: "Pebble, iterator, pairs copied", Goroutines: n, Ops: scans, Elastic: true, Prepare: fillRaw, Op: func(w *measure.Worker) error {
					return pebbleScan(raw, w.Rand.IntN(totalKeys-scanned), keep())
				}},
			},
		})
	}
	return set
}

// keep returns a function that copies pairs.
func keep() func(key, value []byte) {
	pairs := make([][2][]byte, 0, scanned)
	return func(key, value []byte) {
		pairs = append(pairs, [2][]byte{bytes.Clone(key), bytes.Clone(value)})
	}
}
