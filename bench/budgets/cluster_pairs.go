// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package budgets

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/bench/records/fdbpeer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// clusterPairs is how many pairs there are.
const clusterPairs = 10_000

// pairStore reads and writes pairs on a cluster, each time in a transaction of its own.
// Ranges with the limit 0 are read whole. Slice and Iterate return the number of pairs.
type pairStore interface {
	Get(key []byte) ([]byte, error)
	Set(key, value []byte) error
	Slice(begin, end []byte, limit int, exact bool) (int, error)
	Iterate(begin, end []byte, limit int) (int, error)
}

// openClusterPairs returns the contests of kv/fdbkv and the official binding on the same pairs.
func openClusterPairs(clusterFile string) (contests []measure.Contest, closeAll func() error, err error) {
	engine, err := fdbkv.Open(clusterFile)
	if err != nil {
		return nil, nil, err
	}
	byHand, err := fdbpeer.OpenPairs(clusterFile, []string{"bench", "pairs"})
	if err != nil {
		return nil, nil, errors.Join(err, engine.Close())
	}
	closeAll = func() error { return errors.Join(byHand.Close(), engine.Close()) }
	if err := fillPairs(engine, byHand.Prefix); err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	for _, n := range []int{1, 64} {
		contests = append(contests, pairContests(byHand.Prefix, n, enginePairs{engine}, byHand)...)
	}
	return contests, closeAll, nil
}

func fillPairs(db kv.Database, prefix []byte) error {
	for first := 0; first < clusterPairs; first += fillBatch {
		err := db.Transact(ctx, func(tx kv.Transaction) error {
			for i := first; i < first+fillBatch; i++ {
				tx.Set(pairKey(prefix, i), value(i))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func pairKey(prefix []byte, i int) []byte { return appendKey(slices.Clone(prefix), i) }

// enginePairs is the pairStore of an engine.
type enginePairs struct{ db kv.Database }

func (p enginePairs) Get(key []byte) (value []byte, err error) {
	err = p.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		value, err = tx.Get(key).Get(ctx)
		return err
	})
	return value, err
}

func (p enginePairs) Set(key, value []byte) error {
	return p.db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set(key, value)
		return nil
	})
}

func (p enginePairs) Slice(begin, end []byte, limit int, exact bool) (n int, err error) {
	o := kv.RangeOptions{Limit: limit}
	if exact {
		o.Mode = kv.ModeExact
	}
	err = p.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		pairs, err := tx.GetRange(kv.KeyRange{Begin: begin, End: end}.Selectors(), o).Slice(ctx)
		n = len(pairs)
		return err
	})
	return n, err
}

func (p enginePairs) Iterate(begin, end []byte, limit int) (n int, err error) {
	err = p.db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		n = 0
		for _, err := range tx.GetRange(kv.KeyRange{Begin: begin, End: end}.Selectors(), kv.RangeOptions{Limit: limit}).All(ctx) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// pairContests are those of n goroutines.
func pairContests(prefix []byte, n int, stores ...pairStore) []measure.Contest {
	slice := func(s pairStore, begin, end []byte, limit int) (int, error) { return s.Slice(begin, end, limit, false) }
	exact := func(s pairStore, begin, end []byte, limit int) (int, error) { return s.Slice(begin, end, limit, true) }
	return []measure.Contest{
		pairContest("get", "get of a pair", n, stores, getPair(prefix)),
		pairContest("set", "set of a pair", n, stores, setPair(prefix)),
		pairContest("slice", "range of 100 pairs as a slice", n, stores, readWhole(prefix, slice)),
		pairContest("slice-limit", "range with the limit 100 as a slice", n, stores, readLimited(prefix, slice)),
		pairContest("slice-exact", "range with the limit 100 as a slice, exact mode", n, stores, readLimited(prefix, exact)),
		pairContest("all", "range of 100 pairs, one after the other", n, stores, readWhole(prefix, pairStore.Iterate)),
		pairContest("all-limit", "range with the limit 100, one after the other", n, stores, readLimited(prefix, pairStore.Iterate)),
	}
}

// pairOp is the operation of a contest.
type pairOp func(pairStore, *measure.Worker) error

func getPair(prefix []byte) pairOp {
	return func(s pairStore, w *measure.Worker) error {
		i := w.Rand.IntN(clusterPairs)
		v, err := s.Get(pairKey(prefix, i))
		if err != nil {
			return err
		}
		return checkValue(v, i)
	}
}

func setPair(prefix []byte) pairOp {
	return func(s pairStore, w *measure.Worker) error {
		i := w.Rand.IntN(clusterPairs)
		return s.Set(pairKey(prefix, i), value(i))
	}
}

// rangeRead reads a range and returns the number of its pairs.
type rangeRead func(s pairStore, begin, end []byte, limit int) (int, error)

// readWhole reads a range that has so many pairs.
func readWhole(prefix []byte, read rangeRead) pairOp {
	return func(s pairStore, w *measure.Worker) error {
		i := w.Rand.IntN(clusterPairs - scanned)
		return checkPairs(read(s, pairKey(prefix, i), pairKey(prefix, i+scanned), 0))
	}
}

// readLimited reads the first pairs of a range that has more.
func readLimited(prefix []byte, read rangeRead) pairOp {
	return func(s pairStore, w *measure.Worker) error {
		i := w.Rand.IntN(clusterPairs - scanned)
		return checkPairs(read(s, pairKey(prefix, i), pairKey(prefix, clusterPairs), scanned))
	}
}

func checkPairs(n int, err error) error {
	if err == nil && n != scanned {
		err = fmt.Errorf("a range of %d pairs has %d", scanned, n)
	}
	return err
}

// pairContest is a contest in which kv/fdbkv must not be slower than the official binding.
func pairContest(name, about string, n int, stores []pairStore, op pairOp) measure.Contest {
	c := measure.Contest{Name: fmt.Sprintf("cluster-pairs-%s-%d", name, n), About: about + ", " + goroutines(n)}
	for i, s := range stores {
		c.Entrants = append(c.Entrants, measure.Entrant{
			Name: []string{"kv/fdbkv", "official binding"}[i], Least: float64(i), Goroutines: n, Ops: 1_000, Elastic: true,
			Op: func(w *measure.Worker) error { return op(s, w) },
		})
	}
	return c
}
