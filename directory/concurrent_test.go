// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
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
