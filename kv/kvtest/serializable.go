// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// SerializableOptions describe the load of [CheckSerializable].
type SerializableOptions struct {
	Seed         uint64 // fixes what the transactions do
	Goroutines   int    // how many run at once; 0 means 8
	Transactions int    // of each goroutine; 0 means 50
	Keys         int    // in use at a time: fewer mean more conflicts; 0 means 5
}

// CheckSerializable runs random transactions of point reads, range reads,
// read-modify-writes and blind appends against db, and fails t if what they saw
// and wrote contradicts every order of them that respects time. It replaces the
// contents below \xff. Attempts whose outcome is unknown may have happened or
// not, so it works on a [Hostile] database as well.
func CheckSerializable(t testing.TB, db kv.Database, o SerializableOptions) {
	t.Helper()
	load := &listLoad{
		db: db, seed: o.Seed, keys: cmp.Or(o.Keys, 5), ctx: context.Background(),
		count: cmp.Or(o.Transactions, 50),
	}
	attempts, err := load.run(cmp.Or(o.Goroutines, 8))
	if err != nil {
		t.Fatalf("the load cannot run: %v", err)
	}
	faults := analyse(attempts)
	for i, fault := range faults {
		if i == 10 {
			t.Errorf("…and %d more", len(faults)-i)
			break
		}
		t.Errorf("seed %d, %d attempts, not strictly serializable: %s", o.Seed, len(attempts), fault)
	}
}

// listLoad runs transactions over lists.
type listLoad struct {
	ctx   context.Context
	db    kv.Database
	seed  uint64
	keys  int
	count int
	clock atomic.Int64
	ids   atomic.Int64

	mu       sync.Mutex
	attempts []attempt
}

func (l *listLoad) now() int { return int(l.clock.Add(1)) }

func (l *listLoad) key(i int) string { return fmt.Sprintf("list/%06d", i) }

// base is the number of the first key in use. It moves on with the attempts,
// so that there are always keys that appear for the first time: phantoms.
func (l *listLoad) base() int { return int(l.ids.Load()) / 6 }

// run clears the lists, runs the load and reads all lists at the end.
func (l *listLoad) run(goroutines int) ([]attempt, error) {
	err := l.db.Transact(l.ctx, func(tx kv.Transaction) error {
		tx.ClearRange(userKeys())
		return nil
	})
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	failures := make([]error, goroutines)
	for g := range goroutines {
		group.Go(func() { failures[g] = l.work(rand.New(rand.NewPCG(l.seed, uint64(g)))) })
	}
	group.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	err = l.transaction(func(tx kv.Transaction, a *attempt) error { return l.scan(tx, a, 0, l.base()+l.keys) })
	return l.attempts, err
}

func (l *listLoad) work(rng *rand.Rand) error {
	for range l.count {
		seed, base := rng.Uint64(), l.base()
		err := l.transaction(func(tx kv.Transaction, a *attempt) error {
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

// transaction runs fn until it commits; each attempt has a number of its own
// and goes down in the history.
func (l *listLoad) transaction(fn func(kv.Transaction, *attempt) error) error {
	tx, err := l.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Cancel()
	for {
		a := attempt{id: int(l.ids.Add(1)), began: l.now(), outcome: failed}
		err := fn(tx, &a)
		if err == nil {
			if err = tx.Commit(l.ctx); err == nil {
				a.outcome = committed
			} else if kv.IsMaybeCommitted(err) {
				a.outcome = unknown
			}
		}
		a.ended = l.now()
		l.note(a)
		if err == nil {
			return nil
		}
		if err := tx.OnError(l.ctx, err); err != nil {
			return err
		}
	}
}

func (l *listLoad) note(a attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a.outcome == failed {
		a.reads = nil // a failed transaction may have seen anything
	}
	l.attempts = append(l.attempts, a)
}

// step does one random thing with the keys from base on.
func (l *listLoad) step(tx kv.Transaction, a *attempt, base int, rng *rand.Rand) error {
	key := l.key(base + rng.IntN(l.keys))
	switch kind := rng.IntN(8); {
	case kind <= 1:
		from := rng.IntN(l.keys)
		return l.scan(tx, a, base+from, base+from+1+rng.IntN(l.keys-from))
	case kind <= 3 && !slices.Contains(a.appends, key):
		tx.Atomic(kv.AppendIfFits, []byte(key), fmt.Appendf(nil, "%d,", a.id))
		a.appends = append(a.appends, key)
		return nil
	case kind <= 5 && !slices.Contains(a.appends, key):
		value, err := l.read(tx, a, key)
		if err != nil {
			return err
		}
		tx.Set([]byte(key), fmt.Appendf(nil, "%s%d,", value, a.id))
		a.appends = append(a.appends, key)
		return nil
	}
	_, err := l.read(tx, a, key)
	return err
}

func (l *listLoad) read(tx kv.Transaction, a *attempt, key string) (string, error) {
	value, err := tx.Get([]byte(key)).Get(l.ctx)
	if err != nil {
		return "", err
	}
	return string(value), a.saw(key, string(value))
}

// scan reads the lists from one number to before another in one range; those
// that are absent are seen to be empty.
func (l *listLoad) scan(tx kv.Transaction, a *attempt, from, to int) error {
	found := map[string]string{}
	options := kv.RangeOptions{Reverse: a.id%2 == 0}
	for pair, err := range tx.GetRange(span(l.key(from), l.key(to)).Selectors(), options).All(l.ctx) {
		if err != nil {
			return err
		}
		found[string(pair.Key)] = string(pair.Value)
	}
	for i := from; i < to; i++ {
		if err := a.saw(l.key(i), found[l.key(i)]); err != nil {
			return err
		}
	}
	return nil
}

// saw notes a list. The attempt's own element must be its last, and is left out.
func (a *attempt) saw(key, text string) error {
	list := []int{}
	for field := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
		if field == "" {
			continue
		}
		id, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("%s holds %q: %w", key, text, err)
		}
		list = append(list, id)
	}
	if slices.Contains(a.appends, key) {
		if len(list) == 0 || list[len(list)-1] != a.id {
			return fmt.Errorf("transaction %d does not see its own write of %s: %v", a.id, key, list)
		}
		list = list[:len(list)-1]
	}
	a.reads = append(a.reads, observation{key, list})
	return nil
}
