// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

// testStore checks the contract of the map: order, limits, bytes of all kinds,
// services apart, nothing left by a failed transaction.
func testStore(f *fixture) {
	store := f.Open(f.T, f.name)
	write := func(service string, fn func(lease.Tx)) {
		f.Helper()
		if err := store.Update(f.Context(), service, func(tx lease.Tx) error { fn(tx); return nil }); err != nil {
			f.Fatal(err)
		}
	}
	keys := [][]byte{{0}, {0, 0}, {1}, {1, 0xff}, []byte("b{}"), {0xfe}, {0xff}, {0xff, 0}}
	write("one", func(tx lease.Tx) {
		for i := len(keys) - 1; i >= 0; i-- {
			tx.Set(keys[i], append([]byte{0, 0xff}, keys[i]...))
		}
	})
	write("two", func(tx lease.Tx) { tx.Set(keys[2], []byte("other")) })
	write("one", func(tx lease.Tx) {
		tx.Delete(keys[4])
		tx.Delete([]byte("never there"))
		tx.Set(keys[5], bytes.Repeat([]byte{7}, 16<<10))
	})
	boom := errors.New("boom")
	err := store.Update(f.Context(), "one", func(tx lease.Tx) error { tx.Set(keys[2], []byte("lost")); return boom })
	if !errors.Is(err, boom) {
		f.Errorf("the error of the function: got %v", err)
	}
	checkStored(f, f.Open(f.T, f.name), keys)
}

// checkStored checks what testStore has written.
func checkStored(f *fixture, store lease.Store, keys [][]byte) {
	f.Helper()
	want := [][]byte{keys[0], keys[1], keys[2], keys[3], keys[5], keys[6]}
	for limit := 1; limit <= 8; limit++ {
		got := scan(f, store, "one", keys[0], keys[7], limit)
		if len(got) != min(limit, len(want)) {
			f.Fatalf("a scan of at most %d has %d pairs, want %d", limit, len(got), min(limit, len(want)))
		}
		for i, pair := range got {
			if !bytes.Equal(pair.Key, want[i]) {
				f.Errorf("pair %d has key %x, want %x", i, pair.Key, want[i])
			}
		}
	}
	if got := scan(f, store, "one", keys[2], keys[3], 8); len(got) != 1 || !bytes.Equal(got[0].Value, append([]byte{0, 0xff}, keys[2]...)) {
		f.Errorf("a scan of one key: %v", got)
	}
	err := store.Update(f.Context(), "one", func(tx lease.Tx) error {
		values, err := tx.Get(f.Context(), keys[4], keys[5], keys[2])
		if err == nil && (values[0] != nil || len(values[1]) != 16<<10 || len(values[2]) != 3) {
			err = fmt.Errorf("got %d, %d and %d bytes", len(values[0]), len(values[1]), len(values[2]))
		}
		return err
	})
	if err != nil {
		f.Error(err)
	}
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	if err := store.Update(ctx, "one", func(tx lease.Tx) error { _, err := tx.Get(ctx, keys[0]); return err }); err == nil {
		f.Error("a transaction succeeds although its context has ended")
	}
}

// scan returns what a transaction scans.
func scan(f *fixture, store lease.Store, service string, begin, end []byte, limit int) []lease.Pair {
	f.Helper()
	var pairs []lease.Pair
	err := store.Update(f.Context(), service, func(tx lease.Tx) (err error) {
		pairs, err = tx.Scan(f.Context(), begin, end, limit)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return pairs
}

// testStoreSerializable counts by reading and writing from many goroutines,
// through two handles: no increment is lost, even of a key that is not there at
// first.
func testStoreSerializable(f *fixture) {
	stores := []lease.Store{f.Open(f.T, f.name), f.Open(f.T, f.name)}
	const workers, each = 8, 15
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for range each {
				if err := increment(f.Context(), stores[w%2], []byte("n")); err != nil {
					f.Error(err)
				}
			}
		})
	}
	group.Wait()
	pairs := scan(f, stores[0], "count", []byte("n"), []byte("o"), 2)
	if len(pairs) != 1 || string(pairs[0].Value) != strconv.Itoa(workers*each) {
		f.Errorf("%d increments made %s", workers*each, pairs)
	}
}

func increment(ctx context.Context, store lease.Store, key []byte) error {
	return store.Update(ctx, "count", func(tx lease.Tx) error {
		values, err := tx.Get(ctx, key)
		if err != nil {
			return err
		}
		n := 0
		if values[0] != nil {
			if n, err = strconv.Atoi(string(values[0])); err != nil {
				return err
			}
		}
		tx.Set(key, []byte(strconv.Itoa(n+1)))
		return nil
	})
}

// AtTime returns store with another clock.
func AtTime(store lease.Store, now func() time.Time) lease.Store {
	return wrapperStore{store, func(tx lease.Tx) lease.Tx { return clockTx{tx, now()} }}
}

// CountReads returns store, which adds its reads to a counter: a call of Get or Scan is one.
func CountReads(store lease.Store, reads *atomic.Int64) lease.Store {
	return wrapperStore{store, func(tx lease.Tx) lease.Tx { return countingTx{tx, reads} }}
}

// wrapperStore is a store with other transactions.
type wrapperStore struct {
	lease.Store
	wrap func(lease.Tx) lease.Tx
}

func (w wrapperStore) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return w.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(w.wrap(tx)) })
}

type clockTx struct {
	lease.Tx
	now time.Time
}

func (c clockTx) Now() time.Time { return c.now }

type countingTx struct {
	lease.Tx
	reads *atomic.Int64
}

func (c countingTx) Get(ctx context.Context, keys ...[]byte) ([][]byte, error) {
	c.reads.Add(1)
	return c.Tx.Get(ctx, keys...)
}

func (c countingTx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	c.reads.Add(1)
	return c.Tx.Scan(ctx, begin, end, limit)
}

// Hostile returns store with everything that its contract permits: scans return
// now and then what they returned before, and functions run again without the
// store having changed, or after it has. What happens follows from the seed, for
// calls one after the other.
func Hostile(store lease.Store, seed uint64) lease.Store {
	return &hostile{Store: store, random: rand.New(rand.NewPCG(seed, 0)), scans: map[string][]lease.Pair{}}
}

type hostile struct {
	lease.Store
	mu     sync.Mutex
	random *rand.Rand
	scans  map[string][]lease.Pair // by service and bounds: what the last one returned
}

// chance is true once in n times.
func (h *hostile) chance(n int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(n) == 0
}

var errAbandoned = errors.New("leasetest: the transaction is abandoned")

func (h *hostile) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	run := func(tx lease.Tx) error { return fn(hostileTx{tx, h, service}) }
	if h.chance(4) {
		err := h.Store.Update(ctx, service, func(tx lease.Tx) error { return errors.Join(errAbandoned, run(tx)) })
		if !errors.Is(err, errAbandoned) {
			return err
		}
	}
	if h.chance(8) { // the reply is lost
		if err := h.Store.Update(ctx, service, run); err != nil {
			return err
		}
	}
	return h.Store.Update(ctx, service, run)
}

type hostileTx struct {
	lease.Tx
	*hostile
	service string
}

func (t hostileTx) Scan(ctx context.Context, begin, end []byte, limit int) ([]lease.Pair, error) {
	outdated := t.chance(4)
	pairs, err := t.Tx.Scan(ctx, begin, end, limit)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := t.service + string(begin[:min(2, len(begin))])
	if old, known := t.scans[key]; known && outdated {
		pairs = slices.DeleteFunc(slices.Clone(old), func(p lease.Pair) bool {
			return bytes.Compare(p.Key, begin) < 0 || bytes.Compare(p.Key, end) >= 0
		})
		return pairs[:min(limit, len(pairs))], nil
	}
	t.scans[key] = pairs
	return pairs, nil
}

// failover is a store that tells when it may have forgotten something.
type failover struct {
	lease.Store
	life *atomic.Int64
}

func (s failover) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return s.Store.Update(ctx, service, func(tx lease.Tx) error { return fn(failoverTx{tx, s.life.Load()}) })
}

type failoverTx struct {
	lease.Tx
	life int64
}

func (t failoverTx) Incarnation() string { return fmt.Sprint("life ", t.life) }

// switchStore is a store that can be replaced.
type switchStore struct{ current atomic.Pointer[storeBox] }

type storeBox struct{ lease.Store }

func (s *switchStore) Update(ctx context.Context, service string, fn func(lease.Tx) error) error {
	return s.current.Load().Update(ctx, service, fn)
}

func (s *switchStore) Services(ctx context.Context, after string, limit int) ([]string, error) {
	return s.current.Load().Services(ctx, after, limit)
}
