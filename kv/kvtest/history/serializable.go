// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
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
// It replaces the contents below \xff. Attempts whose outcome is unknown may
// have happened or not, so it works on a [Hostile] database as well.
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
