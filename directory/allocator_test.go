// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/tuple"
)

func openEngine(t testing.TB) kv.Database {
	t.Helper()
	return enginetest.Open(t)
}

func allocateIn(db kv.Transactor, a allocator) (int64, error) {
	return kv.Transact(context.Background(), db, func(tx kv.Transaction) (int64, error) {
		return a.allocate(context.Background(), tx)
	})
}

// TestAllocateConcurrently takes integers over several windows, from many
// goroutines, and looks that none comes twice.
func TestAllocateConcurrently(t *testing.T) {
	engine := openEngine(t)
	for name, db := range map[string]kv.Database{"plain": engine, "hostile": faults.HostileT(t, engine)} {
		t.Run(name, func(t *testing.T) {
			a := newAllocator(tuple.NewSubspace([]byte(name)))
			const workers, each = 8, 40
			var mu sync.Mutex
			seen := map[int64]bool{}
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for range each {
						n, err := allocateIn(db, a)
						mu.Lock()
						if err != nil || n < 0 || seen[n] {
							t.Errorf("allocated %d, %v; given out before: %t", n, err, seen[n])
						}
						seen[n] = true
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(seen) != workers*each {
				t.Errorf("%d integers, want %d", len(seen), workers*each)
			}
			checkShort(t, seen)
		})
	}
}

// checkShort fails the test if integers are larger than windows half used explain.
func checkShort(t *testing.T, seen map[int64]bool) {
	t.Helper()
	limit := int64(255 + 2*1024 + 3*len(seen))
	for n := range seen {
		if n > limit {
			t.Errorf("%d integers reached %d, want less than %d", len(seen), n, limit)
		}
	}
}

// TestAllocateInOneTransaction takes more than a window holds.
func TestAllocateInOneTransaction(t *testing.T) {
	db, a := openEngine(t), newAllocator(tuple.NewSubspace([]byte("a")))
	err := db.Transact(context.Background(), func(tx kv.Transaction) error {
		seen := map[int64]bool{}
		for range 200 {
			n, err := a.allocate(context.Background(), tx)
			if err != nil {
				return err
			}
			if seen[n] {
				t.Errorf("%d given out twice", n)
			}
			seen[n] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAllocateInFullWindow: a window in which all integers are taken, though its
// counter says otherwise, is left.
func TestAllocateInFullWindow(t *testing.T) {
	db, a := openEngine(t), newAllocator(tuple.NewSubspace([]byte("a")))
	err := db.Transact(context.Background(), func(tx kv.Transaction) error {
		for i := range windowSize(0) {
			tx.Set(a.recent.Sub(i).Bytes(), nil)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := allocateIn(db, a); err != nil || n < windowSize(0) || n >= 2*windowSize(0) {
		t.Errorf("%d, %v, want an integer of the second window", n, err)
	}
}

func TestAllocateCorrupt(t *testing.T) {
	a := newAllocator(tuple.NewSubspace([]byte("a")))
	tests := []struct {
		name       string
		key, value []byte
	}{
		{"negative counter", a.counters.Sub(0).Bytes(), []byte{0, 0, 0, 0, 0, 0, 0, 0x80}},
		{"window that is a string", a.counters.Sub("x").Bytes(), kv.Int64(1)},
		{"no tuple", append(a.counters.Bytes(), 0x16), kv.Int64(1)},
		{"nothing left", a.counters.Sub(int64(maxWindowStart)).Bytes(), kv.Int64(1 << 40)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db := openEngine(t)
			err := db.Transact(context.Background(), func(tx kv.Transaction) error {
				tx.Set(test.key, test.value)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if n, err := allocateIn(db, a); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%d, %v, want ErrCorrupt", n, err)
			}
		})
	}
}

// A transaction with reads that do not see its writes would give one prefix to two directories.
func TestCreateWithoutSeeingOwnWrites(t *testing.T) {
	for name, option := range map[string]kv.Option{"all reads": kv.OptionReadYourWritesDisable, "snapshot reads": kv.OptionSnapshotRYWDisable} {
		t.Run(name, func(t *testing.T) {
			db := openEngine(t)
			for _, path := range [][]string{{"a", "b"}, {"c"}} { // in the allocator's first window while that is new, and later
				err := db.Transact(t.Context(), func(tx kv.Transaction) error {
					if err := tx.SetOption(option, 0); err != nil {
						return err
					}
					_, err := Root().Create(t.Context(), tx, path)
					return err
				})
				if kv.CodeOf(err) != kv.CodeClientInvalidOperation {
					t.Errorf("Create of %q: %v, want code %d", path, err, kv.CodeClientInvalidOperation)
				}
				if _, err := Root().Create(t.Context(), db, path); err != nil {
					t.Errorf("Create of %q in a transaction of its own: %v", path, err)
				}
			}
		})
	}
}

// TestTurnsAreForgotten: nothing remains of transactions that are done.
func TestTurnsAreForgotten(t *testing.T) {
	db := openEngine(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	var running, most int
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := exclusive(context.Background(), tx, func() error {
				running++
				most = max(most, running)
				running--
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d functions ran at a time", most)
	}
	turns.mu.Lock()
	defer turns.mu.Unlock()
	if _, left := turns.byTx[tx]; left {
		t.Error("the transaction's turn is still there")
	}
}

// TestExclusiveEndsWithContext checks that a call that waits for a turn ends with
// ctx.
func TestExclusiveEndsWithContext(t *testing.T) {
	tx, err := openEngine(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	ctx, cancel := context.WithCancel(context.Background())
	err = exclusive(ctx, tx, func() error {
		cancel()
		return exclusive(ctx, tx, func() error { return errors.New("two at a time") })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that ctx ended", err)
	}
}
