// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/bench/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// prototypeCounter is the rate of the best prototype of the engine in the same contest: 64
// goroutines that read, increment and write one key, and retry at once.
const prototypeCounter = 1045

// counters increment one key in 64 goroutines.
var counters = measure.Stage{Name: "counter", Section: "commits", Open: func(dir string) (*measure.Set, error) {
	engine, err := embedded.Open(filepath.Join(dir, "engine"), engineOptions)
	if err != nil {
		return nil, err
	}
	const n = 64
	written := counter{db: engine, key: []byte("counter/written")}
	added := counter{db: engine, key: []byte("counter/added"), calm: true}
	single := commitEngine(engine, totalKeys, 1, 500)
	single.Name = "engine, plain commits"
	plain := commitEngine(engine, totalKeys, n, 10_000)
	plain.Name, plain.Least = "engine, plain commits", 0.7
	return &measure.Set{Close: engine.Close, Contests: []measure.Contest{
		{
			Name: "counter-rmw-64", About: "one counter read, incremented and written, 64 goroutines; plain commits of 1", Durable: true,
			Entrants: []measure.Entrant{written.entrant("engine", n, 500, written.rewriteKey), single},
			Fixed:    []measure.FixedRate{{Name: "the best prototype, on another day", Rate: prototypeCounter, Least: 0.5}},
		},
		{
			Name: "counter-add-64", About: "one counter incremented by atomic add, 64 goroutines", Durable: true,
			Entrants: []measure.Entrant{added.entrant("engine", n, 10_000, added.addOne), plain},
		},
	}}, nil
}}

// counter is a key with a counter, and its expected value.
type counter struct {
	db    *embedded.Database
	key   []byte
	calm  bool // no transaction may have to try again
	done  uint64
	tries atomic.Int64
}

func (c *counter) entrant(name string, goroutines, ops int, op func(tx kv.Transaction) error) measure.Entrant {
	return measure.Entrant{
		Name: name, Goroutines: goroutines, Ops: ops, Elastic: true,
		Prepare: func() error {
			c.tries.Store(0)
			return nil
		},
		Op: func(*measure.Worker) error {
			return c.db.Transact(ctx, func(tx kv.Transaction) error {
				c.tries.Add(1)
				return op(tx)
			})
		},
		Check: c.checkCount,
	}
}

func (c *counter) rewriteKey(tx kv.Transaction) error {
	value, err := tx.Get(c.key).Get(ctx)
	if err != nil {
		return err
	}
	var count uint64
	if value != nil {
		count = binary.LittleEndian.Uint64(value)
	}
	tx.Set(c.key, binary.LittleEndian.AppendUint64(nil, count+1))
	return nil
}

func (c *counter) addOne(tx kv.Transaction) error {
	tx.Atomic(kv.Add, c.key, binary.LittleEndian.AppendUint64(nil, 1))
	return nil
}

// checkCount fails unless every increment was counted once.
func (c *counter) checkCount(ops int) error {
	c.done += uint64(ops)
	value, err := kv.ReadTransact(ctx, c.db, func(tx kv.ReadTransaction) ([]byte, error) { return tx.Get(c.key).Get(ctx) })
	if err != nil {
		return err
	}
	if len(value) != 8 || binary.LittleEndian.Uint64(value) != c.done {
		return fmt.Errorf("after %d increments the counter is %x", c.done, value)
	}
	if tries := c.tries.Load(); c.calm && tries != int64(ops) {
		return fmt.Errorf("%d increments took %d tries", ops, tries)
	}
	return nil
}
