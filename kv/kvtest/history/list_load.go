// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/model"
)

// listLoad runs transactions over lists.
type listLoad struct {
	clients
	keys     int
	count    int
	ids      atomic.Int64
	elements atomic.Int64

	mu       sync.Mutex
	attempts []attempt
}

func (l *listLoad) key(i int) string { return fmt.Sprintf("list/%06d", i) }

// base is the number of the first key in use. It moves on with the attempts,
// so that there are always keys that appear for the first time: phantoms.
func (l *listLoad) base() int { return int(l.ids.Load()) / 6 }

// run runs the load and reads all lists at the end.
func (l *listLoad) run(goroutines int) ([]attempt, error) {
	if err := l.start(goroutines, l.work); err != nil {
		return nil, err
	}
	err := l.try(func(tx kv.Transaction, a *attempt) error {
		return l.scan(tx, a, 0, l.base()+l.keys, kv.RangeOptions{})
	})
	return l.attempts, err
}

func (l *listLoad) work(rng *rand.Rand) error {
	for range l.count {
		seed, base := rng.Uint64(), l.base()
		err := l.try(func(tx kv.Transaction, a *attempt) error {
			steps := rand.New(rand.NewPCG(seed, 0)) // a retry does the same
			for range 1 + steps.IntN(4) {
				if err := l.step(tx, a, base, steps); err != nil {
					return err
				}
				runtime.Gosched() // for transactions to overlap also on a fast engine
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// try runs fn until it commits; each attempt has a number of its own and goes
// down in the history.
func (l *listLoad) try(fn func(kv.Transaction, *attempt) error) error {
	var a *attempt
	run := func(tx kv.Transaction) error {
		a = &attempt{id: int(l.ids.Add(1))}
		return fn(tx, a)
	}
	return l.transaction(run, func(life lifetime) {
		a.lifetime = life
		if life.outcome == failed {
			a.reads = nil // a failed transaction may have seen anything
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.attempts = append(l.attempts, *a)
	})
}

// Step does one random thing with the keys from base on.
func (l *listLoad) step(tx kv.Transaction, a *attempt, base int, rng *rand.Rand) error {
	key, from := l.key(base+rng.IntN(l.keys)), rng.IntN(l.keys)
	to := from + 1 + rng.IntN(l.keys-from)
	switch rng.IntN(10) {
	case 0, 1:
		return l.scan(tx, a, base+from, base+to, kv.RangeOptions{Reverse: rng.IntN(2) == 0})
	case 2:
		return l.scan(tx, a, base+from, base+to, kv.RangeOptions{Limit: 1 + rng.IntN(2), Reverse: rng.IntN(2) == 0})
	case 3:
		return l.seek(tx, a, base+from, base+l.keys)
	case 4, 5:
		tx.Atomic(kv.AppendIfFits, []byte(key), l.append(a, key))
		return nil
	case 6, 7:
		value, err := l.read(tx, a, key)
		if err != nil {
			return err
		}
		tx.Set([]byte(key), append([]byte(value), l.append(a, key)...))
		return nil
	}
	return l.readTogether(tx, a, key, l.key(base+from))
}

// append returns the text of a new element that the attempt appends to a key.
func (l *listLoad) append(a *attempt, key string) []byte {
	e := element{key, int(l.elements.Add(1))}
	a.appends = append(a.appends, e)
	return fmt.Appendf(nil, "%d,", e.number)
}

func (l *listLoad) read(tx kv.Transaction, a *attempt, key string) (string, error) {
	value, err := tx.Get([]byte(key)).Get(l.ctx)
	if err != nil {
		return "", err
	}
	return string(value), a.saw(key, string(value), false)
}

// readTogether starts reads before it waits for any.
func (l *listLoad) readTogether(tx kv.Transaction, a *attempt, keys ...string) error {
	futures := make([]kv.Future[[]byte], len(keys))
	for i, key := range keys {
		futures[i] = tx.Get([]byte(key))
	}
	for i, future := range futures {
		value, err := future.Get(l.ctx)
		if err != nil {
			return err
		}
		if err := a.saw(keys[i], string(value), false); err != nil {
			return err
		}
	}
	return nil
}

// seek looks for the first list from one number on. It sees that those before
// it are empty.
func (l *listLoad) seek(tx kv.Transaction, a *attempt, from, to int) error {
	found, err := tx.GetKey(kv.FirstGreaterOrEqual([]byte(l.key(from)))).Get(l.ctx)
	if err != nil {
		return err
	}
	for i := from; i < to && l.key(i) < string(found); i++ {
		if err := a.saw(l.key(i), "", true); err != nil {
			return err
		}
	}
	return nil
}

// scan reads the lists from one number to before another in one range; those
// that are absent are seen to be empty, as far as a limit lets it see.
func (l *listLoad) scan(tx kv.Transaction, a *attempt, from, to int, o kv.RangeOptions) error {
	found, last := map[string]string{}, ""
	for pair, err := range tx.GetRange(model.Span(l.key(from), l.key(to)).Selectors(), o).All(l.ctx) {
		if err != nil {
			return err
		}
		last = string(pair.Key)
		found[last] = string(pair.Value)
	}
	limited := o.Limit > 0 && len(found) == o.Limit
	for i := from; i < to; i++ {
		key := l.key(i)
		if limited && (!o.Reverse && key > last || o.Reverse && key < last) {
			continue
		}
		if err := a.saw(key, found[key], true); err != nil {
			return err
		}
	}
	return nil
}
