// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// parallel runs fn n times at once and returns the joined errors.
func parallel(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// checkAllocated fails the test unless each prefix that was allocated belongs
// to one of n directories: none was orphaned. It holds while the allocator is
// in its first window.
func checkAllocated(t *testing.T, d dump, n int) {
	t.Helper()
	if len(d.nodes) != n {
		t.Errorf("%d directories, want %d: %v", len(d.nodes), n, d.nodes)
	}
	recent := 0
	for _, w := range d.windows {
		recent += w.recent
	}
	if recent != n {
		t.Errorf("%d prefixes allocated for %d directories", recent, n)
	}
}

func samePrefix(t *testing.T, dirs []*directory.Directory) {
	t.Helper()
	for _, d := range dirs[1:] {
		wantPrefix(t, dirs[0], d)
	}
}

func TestCreateOrOpenInManyTransactions(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		const n = 16
		dirs := make([]*directory.Directory, n)
		err := parallel(n, func(i int) (err error) {
			dirs[i], err = directory.Root().CreateOrOpen(context.Background(), db, path("a", "b"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		samePrefix(t, dirs)
		d := readDump(t, db, directory.Options{})
		d.checkSound(t)
		checkAllocated(t, d, 2)
	})
}

// TestCreateOrOpenInOneTransaction: a transaction does not conflict with
// itself, so nothing but the layer keeps parallel calls apart.
func TestCreateOrOpenInOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		const n = 16
		var dirs []*directory.Directory
		transact(t, db, func(tx kv.Transaction) error {
			opened := make([]*directory.Directory, n)
			err := parallel(n, func(i int) (err error) {
				opened[i], err = directory.Root().CreateOrOpen(context.Background(), tx, path("a", "b", "c"))
				return err
			})
			dirs = opened
			return err
		})
		samePrefix(t, dirs)
		wantPrefix(t, dirs[0], mustDir(t)(directory.Root().Open(context.Background(), db, path("a", "b", "c"))))
		d := readDump(t, db, directory.Options{})
		d.checkSound(t)
		checkAllocated(t, d, 3)
	})
}

func TestDifferentPathsInOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		transact(t, db, func(tx kv.Transaction) error {
			return parallel(24, func(i int) error {
				layer := &directory.Layer{}
				*layer = *directory.Root() // every caller may have a layer of its own
				_, err := layer.CreateOrOpen(context.Background(), tx, path("shared", fmt.Sprint(i%12)))
				return err
			})
		})
		d := readDump(t, db, directory.Options{})
		d.checkSound(t)
		checkAllocated(t, d, 13)
	})
}

// TestAllChangesInOneTransaction lets every changing verb meet every other.
func TestAllChangesInOneTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		transact(t, db, func(tx kv.Transaction) error {
			return parallel(30, func(i int) error {
				var err error
				switch i % 3 {
				case 0:
					_, err = root.CreateOrOpen(ctx, tx, path("a", fmt.Sprint(i%5)))
				case 1:
					_, err = root.RemoveIfExists(ctx, tx, path("a"))
				case 2:
					_, err = root.Move(ctx, tx, path("a", fmt.Sprint(i%5)), path(fmt.Sprint("moved", i)))
					if errors.Is(err, directory.ErrNotFound) {
						err = nil
					}
				}
				return err
			})
		})
		readDump(t, db, directory.Options{}).checkSound(t)
	})
}

func TestCreateManyConcurrently(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		const workers, each = 8, 20
		err := parallel(workers, func(w int) error {
			for i := range each {
				if _, err := directory.Root().Create(context.Background(), db, path(fmt.Sprintf("%d-%d", w, i))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		d := readDump(t, db, directory.Options{})
		d.checkSound(t)
		if len(d.nodes) != workers*each {
			t.Errorf("%d directories, want %d", len(d.nodes), workers*each)
		}
	})
}

// TestCreatesDoNotConflict: transactions that create different directories at
// the same time hardly ever fail, which is what the allocator is for.
func TestCreatesDoNotConflict(t *testing.T) {
	ctx, db, root := context.Background(), enginetest.Open(t), directory.Root()
	parent := mustDir(t)(root.Create(ctx, db, path("parent")))
	const rounds = 60
	conflicts := 0
	for i := range rounds {
		var txs []kv.Transaction
		for j := range 2 {
			tx := must[kv.Transaction](t)(db.Begin())
			defer tx.Cancel()
			mustDir(t)(parent.Create(ctx, tx, path(fmt.Sprint(i, j))))
			txs = append(txs, tx)
		}
		for _, tx := range txs {
			if err := tx.Commit(ctx); kv.IsConflict(err) {
				conflicts++
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if conflicts > rounds/3 { // the same candidate in one round of about 40, or a new window
		t.Errorf("%d of %d rounds had a conflict", conflicts, rounds)
	}
	readDump(t, db, directory.Options{}).checkSound(t)
}

// TestCacheStress lets writers with caches of their own write to directories
// that others remove, move and create again all the time. Each directory
// holds its path under the key "home", which the transaction that moves it
// changes. Every attempt of a transaction must find the path that it asked
// for, and no key may end outside a directory.
func TestCacheStress(t *testing.T) {
	for _, layer := range []string{"", directory.Partition} {
		t.Run(fmt.Sprintf("parent %q", layer), func(t *testing.T) {
			onEngines(t, func(t *testing.T, db kv.Database) {
				s := &stress{t: t, db: db, seed: seed.Of(t), layer: layer}
				err := parallel(6, func(i int) error {
					if i < 2 {
						return s.disturb(rand.New(rand.NewPCG(s.seed, uint64(i))))
					}
					return s.write(rand.New(rand.NewPCG(s.seed, uint64(i))))
				})
				if err != nil {
					t.Fatal(err)
				}
				readDump(t, db, directory.Options{}).checkSound(t)
				if s.writes.Load() == 0 || s.disturbed.Load() == 0 {
					t.Errorf("%d writes, %d disturbances: nothing was tested", s.writes.Load(), s.disturbed.Load())
				}
			})
		})
	}
}

type stress struct {
	t                 *testing.T
	db                kv.Database
	seed              uint64
	layer             string
	writes, disturbed atomic.Int64
}

// Each goroutine does stressRounds rounds. Where one kind was faster than the
// other could begin, it goes on until both have met.
const (
	stressRounds = 120
	mostRounds   = 1000 * stressRounds
)

func (s *stress) more(round int) bool {
	return round < stressRounds || round < mostRounds && (s.writes.Load() == 0 || s.disturbed.Load() == 0)
}

func stressPath(rng *rand.Rand) []string {
	return path(fmt.Sprint("p", rng.IntN(2)), fmt.Sprint("d", rng.IntN(3)))
}

func homeOf(p []string) string { return fmt.Sprint(p) }

// write opens directories by a cache and writes into them.
func (s *stress) write(rng *rand.Rand) error {
	ctx := context.Background()
	cache := newCache(s.t, s.db, directory.CacheOptions{MaxEntries: 5})
	for round := 0; s.more(round); round++ {
		p, create := stressPath(rng), rng.IntN(4) == 0
		entry := rng.Uint64()
		err := s.db.Transact(ctx, func(tx kv.Transaction) error {
			d, err := s.open(ctx, tx, cache, p, create)
			if err != nil {
				return err
			}
			space, err := d.Subspace()
			if err != nil {
				return err
			}
			home, err := tx.Get(space.Sub("home").Bytes()).Get(ctx)
			if err != nil {
				return err
			}
			if home == nil {
				tx.Set(space.Sub("home").Bytes(), []byte(homeOf(p)))
			} else if string(home) != homeOf(p) {
				return fmt.Errorf("asked for %s, opened %s", homeOf(p), home)
			}
			tx.Set(space.Sub("entry", int64(entry>>1)).Bytes(), nil)
			return nil
		})
		switch {
		case errors.Is(err, directory.ErrNotFound) && !create:
			continue
		case err != nil:
			return err
		}
		s.writes.Add(1)
	}
	return nil
}

func (s *stress) open(ctx context.Context, tx kv.Transaction, cache *directory.Cache, p []string, create bool) (*directory.Directory, error) {
	if create {
		return cache.CreateOrOpen(ctx, tx, p, directory.ElementAs(0, s.layer))
	}
	return cache.Open(ctx, tx, p)
}

// disturb moves and removes directories.
func (s *stress) disturb(rng *rand.Rand) error {
	ctx, root := context.Background(), directory.Root()
	for round := 0; s.more(round); round++ {
		from, to := stressPath(rng), stressPath(rng)
		kind := rng.IntN(8)
		err := s.db.Transact(ctx, func(tx kv.Transaction) error {
			switch kind {
			case 0, 1, 2:
				return root.Remove(ctx, tx, from)
			case 3:
				return root.Remove(ctx, tx, from[:1])
			}
			d, err := root.Move(ctx, tx, from, to)
			if err != nil {
				return err
			}
			space, err := d.Subspace()
			if err != nil {
				return err
			}
			tx.Set(space.Sub("home").Bytes(), []byte(homeOf(to)))
			return nil
		})
		switch {
		case err == nil:
			s.disturbed.Add(1)
		case !isOrdinary(err):
			return err
		}
	}
	return nil
}

// isOrdinary reports whether an error tells only that the others were faster.
func isOrdinary(err error) bool {
	for _, state := range []error{
		directory.ErrNotFound, directory.ErrExists, directory.ErrMoveIntoSelf, directory.ErrBetweenPartitions,
	} {
		if errors.Is(err, state) {
			return true
		}
	}
	return false
}

// BenchmarkCacheOpen is what a transaction pays to know its directory.
func BenchmarkCacheOpen(b *testing.B) {
	ctx, db := context.Background(), enginetest.Open(b)
	cache := newCache(b, db, directory.CacheOptions{})
	tenant, p := directory.ElementAs(1, directory.Partition), path("tenants", "1", "orders")
	mustDir(b)(directory.Root().CreateOrOpen(ctx, db, p, tenant))
	open := func(name string, fn func(kv.Transaction) error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				transact(b, db, func(tx kv.Transaction) error {
					if _, err := tx.GetReadVersion().Get(ctx); err != nil {
						return err
					}
					return fn(tx)
				})
			}
		})
	}
	open("none", func(kv.Transaction) error { return nil })
	open("cache", func(tx kv.Transaction) error { _, err := cache.Open(ctx, tx, p, tenant); return err })
	open("layer", func(tx kv.Transaction) error { _, err := directory.Root().Open(ctx, tx, p, tenant); return err })
}

// BenchmarkCreate creates directories from many goroutines.
func BenchmarkCreate(b *testing.B) {
	ctx, db := context.Background(), enginetest.Open(b)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if _, err := directory.Root().CreateOrOpen(ctx, db, path(fmt.Sprintf("%p-%d", pb, i))); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
