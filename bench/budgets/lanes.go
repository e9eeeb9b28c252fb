// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// A lane is a range of keys: "name/lane/…". Each round takes the next lane, which no earlier
// round has touched.
const (
	lanes    = 9 // more than a contest has rounds
	stepKeys = 10_000
)

func laneKey(name string, lane, i int) []byte { return fmt.Appendf(nil, "%s/%02d/%06d", name, lane, i) }

// trapValue is short: these traps depend on the number of keys.
var trapValue = noise[:20]

// laneStore is the store of the traps: the engine, or Pebble.
type laneStore interface {
	// write changes keys in commits of stepKeys at most.
	write(name string, lane, keys int, change func(key []byte) change) error
	deleteRange(begin, end []byte) error
	// first returns the first key of a range and its value, nil if there is none.
	first(begin, end []byte) (key, value []byte, err error)
	// scan returns the number of keys in a range.
	scan(begin, end []byte) (int, error)
}

// change is a change of a key.
type change struct {
	key   []byte
	value []byte // nil: it is cleared
}

func set(key []byte) change     { return change{key, trapValue} }
func clearOf(key []byte) change { return change{key, nil} }

// steps calls do with the borders of steps of at most size.
func steps(n, size int, do func(begin, end int) error) error {
	for begin := 0; begin < n; begin += size {
		if err := do(begin, min(begin+size, n)); err != nil {
			return err
		}
	}
	return nil
}

type engineLanes struct{ db *embedded.Database }

func (l *engineLanes) write(name string, lane, keys int, of func(key []byte) change) error {
	return steps(keys, stepKeys, func(begin, end int) error {
		return l.db.Transact(ctx, func(tx kv.Transaction) error {
			for i := begin; i < end; i++ {
				if c := of(laneKey(name, lane, i)); c.value == nil {
					tx.Clear(c.key)
				} else {
					tx.Set(c.key, c.value)
				}
			}
			return nil
		})
	})
}

func (l *engineLanes) deleteRange(begin, end []byte) error {
	return l.db.Transact(ctx, func(tx kv.Transaction) error {
		tx.ClearRange(kv.KeyRange{Begin: begin, End: end})
		return nil
	})
}

func (l *engineLanes) read(begin, end []byte, limit int) ([]kv.KeyValue, error) {
	return kv.ReadTransact(ctx, l.db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.SelectorRange{
			Begin: kv.FirstGreaterOrEqual(begin), End: kv.FirstGreaterOrEqual(end),
		}, kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll}).Slice(ctx)
	})
}

func (l *engineLanes) first(begin, end []byte) (key, value []byte, err error) {
	pairs, err := l.read(begin, end, 1)
	if err != nil || len(pairs) == 0 {
		return nil, nil, err
	}
	return pairs[0].Key, pairs[0].Value, nil
}

func (l *engineLanes) scan(begin, end []byte) (int, error) {
	pairs, err := l.read(begin, end, 0)
	return len(pairs), err
}

type pebbleLanes struct{ db *pebble.DB }

func (l *pebbleLanes) write(name string, lane, keys int, of func(key []byte) change) error {
	return steps(keys, stepKeys, func(begin, end int) error {
		b := l.db.NewBatch()
		for i := begin; i < end; i++ {
			c := of(laneKey(name, lane, i))
			err := error(nil)
			if c.value == nil {
				err = b.Delete(c.key, nil)
			} else {
				err = b.Set(c.key, c.value, nil)
			}
			if err != nil {
				return err
			}
		}
		return b.Commit(pebble.Sync)
	})
}

func (l *pebbleLanes) deleteRange(begin, end []byte) error {
	return l.db.DeleteRange(begin, end, pebble.Sync)
}

func (l *pebbleLanes) first(begin, end []byte) (key, value []byte, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: begin, UpperBound: end})
	if err != nil {
		return nil, nil, err
	}
	if it.First() {
		key, value = append(key, it.Key()...), append(value, it.Value()...)
	}
	return key, value, it.Close()
}

func (l *pebbleLanes) scan(begin, end []byte) (n int, err error) {
	it, err := l.db.NewIter(&pebble.IterOptions{LowerBound: begin, UpperBound: end})
	if err != nil {
		return 0, err
	}
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	return n, it.Close()
}
