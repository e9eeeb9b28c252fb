// SPDX-License-Identifier: Apache-2.0

// Package history checks the isolation of an engine: it runs random transactions
// at once, records what each read and wrote, and looks for contradictions.
//
//	func TestSerializable(t *testing.T) {
//		db := openEngine(t)
//		for range 10 {
//			load := history.LoadOptions{Seed: rand.Uint64(), Goroutines: 8}
//			history.CheckSerializable(t, db, load)
//			history.CheckCommitOrder(t, db, load)
//		}
//	}
//
// [CheckSerializable] finds cycles among transactions and names them as Adya does
// ("Weak Consistency: A Generalized Theory and Optimistic Implementations for
// Distributed Transactions", 1999). [CheckCommitOrder] runs the transactions again
// on a sorted map, in the order of their versionstamps.
//
// Both replace everything below \xff, and nothing else may use the database
// at the same time.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

// LoadOptions describe the random load of [CheckSerializable] and
// [CheckCommitOrder].
type LoadOptions struct {
	Seed         uint64 // fixes what the transactions do
	Goroutines   int    // how many run at once; 0 means 8
	Transactions int    // of each goroutine; 0 means 50
	Keys         int    // in use at a time: fewer mean more conflicts; 0 means 5
}

// CheckSerializable runs random transactions against db, each of several point
// reads, range reads (whole, limited, backward), selectors, read-modify-writes
// and blind appends, and fails t if what they saw and wrote contradicts every
// order of them that respects time: it is strict serializability, found by
// cycles among the transactions, which it names as Adya does (G0, G1a to G1c,
// G-single, G2). It takes nothing that the engine says of itself for granted;
// see [CheckCommitOrder] for a check that does, and finds more.
//
// It replaces the contents below \xff. Attempts of unknown outcome may
// have happened or not, so it works on a database of faults.Hostile as well.
func CheckSerializable(t testing.TB, db kv.Database, o LoadOptions) {
	t.Helper()
	load := &listLoad{
		clients: clients{ctx: context.Background(), db: db, seed: o.Seed},
		keys:    cmp.Or(o.Keys, 5), count: cmp.Or(o.Transactions, 50),
	}
	attempts, err := load.run(cmp.Or(o.Goroutines, 8))
	if err != nil {
		t.Fatalf("seed %d: the load cannot run: %v", o.Seed, err)
	}
	report(t, o.Seed, len(attempts), "not strictly serializable", analyse(attempts))
}

// report fails t with the first faults.
func report(t testing.TB, seed uint64, attempts int, what string, faults []string) {
	t.Helper()
	for i, fault := range faults {
		if i == 10 {
			t.Errorf("…and %d more", len(faults)-i)
			break
		}
		t.Errorf("seed %d, %d attempts, %s: %s", seed, attempts, what, fault)
	}
}

// clients run random transactions at once and note when each attempt of one
// began and ended, by one clock that counts.
type clients struct {
	ctx   context.Context
	db    kv.Database
	seed  uint64
	clock atomic.Int64
}

func (c *clients) now() int { return int(c.clock.Add(1)) }

// outcome is what a client knows of an attempt to commit.
type outcome int

const (
	committed outcome = iota
	failed            // certainly not committed
	unknown           // perhaps committed
)

// lifetime is when an attempt ran and how it ended. An attempt that ended before
// another began precedes it.
type lifetime struct {
	began, ended int
	outcome      outcome
}

// start removes all keys and runs work in goroutines, each with a source of
// chance of its own.
func (c *clients) start(goroutines int, work func(*rand.Rand) error) error {
	err := c.db.Transact(c.ctx, func(tx kv.Transaction) error {
		tx.ClearRange(model.UserKeys())
		return nil
	})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, goroutines)
	for g := range goroutines {
		group.Go(func() { failures[g] = work(rand.New(rand.NewPCG(c.seed, uint64(g)))) })
	}
	group.Wait()
	return errors.Join(failures...)
}

// transaction runs fn until it commits and tells note of every attempt.
func (c *clients) transaction(fn func(kv.Transaction) error, note func(lifetime)) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Cancel()
	for {
		life, err := c.attempt(tx, fn)
		note(life)
		if err == nil {
			return nil
		}
		if err := tx.OnError(c.ctx, err); err != nil {
			return err
		}
	}
}

func (c *clients) attempt(tx kv.Transaction, fn func(kv.Transaction) error) (lifetime, error) {
	life := lifetime{began: c.now(), outcome: failed}
	err := fn(tx)
	if err == nil {
		if err = tx.Commit(c.ctx); err == nil {
			life.outcome = committed
		} else if kv.IsMaybeCommitted(err) {
			life.outcome = unknown
		}
	}
	life.ended = c.now()
	return life, err
}

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
