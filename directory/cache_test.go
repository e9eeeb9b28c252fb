// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

func newCache(t testing.TB, db kv.Database, o directory.CacheOptions) *directory.Cache {
	t.Helper()
	return must[*directory.Cache](t)(directory.NewCache(directory.Root(), db, o))
}

// cacheOpen opens path by the cache in a transaction of its own that writes a key.
func cacheOpen(db kv.Database, c *directory.Cache, path []string, expects ...directory.Expect) (*directory.Directory, error) {
	return kv.Transact(context.Background(), db, func(tx kv.Transaction) (*directory.Directory, error) {
		return c.Open(context.Background(), tx, path, expects...)
	})
}

// TestCacheSeesOthersChanges is the promise: two programs over one database.
func TestCacheSeesOthersChanges(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	changes := map[string]func(t *testing.T, db kv.Database){
		"remove": func(t *testing.T, db kv.Database) {
			if err := root.Remove(ctx, db, path("a", "b")); err != nil {
				t.Fatal(err)
			}
		},
		"remove the parent": func(t *testing.T, db kv.Database) {
			if err := root.Remove(ctx, db, path("a")); err != nil {
				t.Fatal(err)
			}
		},
		"move": func(t *testing.T, db kv.Database) {
			mustDir(t)(root.Move(ctx, db, path("a", "b"), path("a", "c")))
		},
		"move the parent": func(t *testing.T, db kv.Database) {
			mustDir(t)(root.Move(ctx, db, path("a"), path("z")))
		},
	}
	for name, change := range changes {
		for _, layer := range []string{"", directory.Partition} {
			t.Run(fmt.Sprintf("%s/parent %q", name, layer), func(t *testing.T) {
				onEngines(t, func(t *testing.T, db kv.Database) {
					mustDir(t)(root.CreateOrOpen(ctx, db, path("a", "b"), directory.ElementAs(0, layer)))
					cache := newCache(t, db, directory.CacheOptions{})
					before := mustDir(t)(cacheOpen(db, cache, path("a", "b")))
					change(t, db)
					if d, err := cacheOpen(db, cache, path("a", "b")); !errors.Is(err, directory.ErrNotFound) {
						t.Errorf("after the change the cache opens %v, %v", d, err)
					}
					created := mustDir(t)(root.Create(ctx, db, path("a", "b")))
					after := mustDir(t)(cacheOpen(db, cache, path("a", "b")))
					wantPrefix(t, created, after)
					if before.String() == after.String() {
						t.Errorf("the same directory before and after: %v", after)
					}
				})
			})
		}
	}
}

// TestCacheConflicts: what happens between a writer's read version and its
// commit makes it fail.
func TestCacheConflicts(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	changes := map[string]func(kv.Database) error{
		"remove":        func(db kv.Database) error { return root.Remove(ctx, db, path("a", "b")) },
		"remove parent": func(db kv.Database) error { return root.Remove(ctx, db, path("a")) },
		"move": func(db kv.Database) error {
			_, err := root.Move(ctx, db, path("a", "b"), path("a", "c"))
			return err
		},
		"move parent": func(db kv.Database) error {
			_, err := root.Move(ctx, db, path("a"), path("z"))
			return err
		},
		"foreign remove": func(db kv.Database) error { return foreignRemove(db, path("a", "b")) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			db := enginetest.Open(t)
			mustDir(t)(root.Create(ctx, db, path("a", "b")))
			cache := newCache(t, db, directory.CacheOptions{})
			for _, state := range []string{"loaded", "remembered"} {
				tx := must[kv.Transaction](t)(db.Begin())
				defer tx.Cancel()
				d := mustDir(t)(cache.Open(ctx, tx, path("a", "b")))
				tx.Set(subspace(t, d).Sub("key").Bytes(), nil)
				if state == "loaded" {
					tx.Cancel() // fills the cache only
					continue
				}
				if err := change(db); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(ctx); !kv.IsConflict(err) {
					t.Errorf("the writer's commit: %v, want a conflict", err)
				}
			}
			readDump(t, db, directory.Options{}).checkSound(t)
		})
	}
}

// foreignRemove removes a directory as the official layers do: without a word
// in the metadata version key.
func foreignRemove(db kv.Database, p []string) error {
	ctx := context.Background()
	return db.Transact(ctx, func(tx kv.Transaction) error {
		quiet := quietTx{tx}
		_, err := directory.Root().RemoveIfExists(ctx, quiet, p) // the function may run again after a commit
		return err
	})
}

// quietTx leaves the metadata version key alone.
type quietTx struct{ kv.Transaction }

func (q quietTx) Atomic(op kv.MutationType, key, operand []byte) {
	if string(key) != kv.MetadataVersionKey {
		q.Transaction.Atomic(op, key, operand)
	}
}

func (q quietTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(q) }

func TestCacheVerifyNodes(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		mustDir(t)(root.Create(ctx, db, path("a", "b")))
		trusting := newCache(t, db, directory.CacheOptions{})
		verifying := newCache(t, db, directory.CacheOptions{VerifyNodes: true})
		for _, c := range []*directory.Cache{trusting, verifying} {
			mustDir(t)(cacheOpen(db, c, path("a", "b")))
		}
		if err := foreignRemove(db, path("a")); err != nil {
			t.Fatal(err)
		}
		if d, err := cacheOpen(db, verifying, path("a", "b")); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("with VerifyNodes: %v, %v", d, err)
		}
		if _, err := cacheOpen(db, trusting, path("a", "b")); err != nil {
			t.Errorf("the foreign removal was announced (%v): this test proves nothing", err)
		}
		created := mustDir(t)(root.Create(ctx, db, path("a", "b")))
		wantPrefix(t, created, mustDir(t)(cacheOpen(db, verifying, path("a", "b"))))
	})
}

// TestCacheInChangingTransaction: a transaction sees its own removals, moves
// and creations.
func TestCacheInChangingTransaction(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		ctx, root := context.Background(), directory.Root()
		mustDir(t)(root.Create(ctx, db, path("a")))
		cache := newCache(t, db, directory.CacheOptions{})
		transact(t, db, func(tx kv.Transaction) error {
			before, err1 := cache.CreateOrOpen(ctx, tx, path("a"))
			moved, err2 := root.Move(ctx, tx, path("a"), path("b"))
			_, gone := cache.Open(ctx, tx, path("a"))
			there, err3 := cache.Open(ctx, tx, path("b"))
			again, err4 := cache.CreateOrOpen(ctx, tx, path("a"))
			read, err5 := cache.OpenRead(ctx, tx.Snapshot(), path("a"))
			if errors.Is(err2, directory.ErrExists) {
				return nil // run again after a commit with a lost acknowledgement
			}
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				return err
			}
			if !errors.Is(gone, directory.ErrNotFound) {
				return fmt.Errorf("moved away, the cache says: %w", gone)
			}
			if again.String() == before.String() {
				t.Error("opened again what was moved away")
			}
			wantPrefix(t, moved, there)
			wantPrefix(t, again, read)
			return nil
		})
		for _, p := range []string{"a", "b"} {
			wantPrefix(t, mustDir(t)(root.Open(ctx, db, path(p))), mustDir(t)(cacheOpen(db, cache, path(p))))
		}
		readDump(t, db, directory.Options{}).checkSound(t)
	})
}

// TestCacheBypassUnreadable: also where a transaction may read what its own
// versionstamped writes hide, it sees its own removals.
func TestCacheBypassUnreadable(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	mustDir(t)(directory.Root().Create(ctx, db, path("a")))
	cache := newCache(t, db, directory.CacheOptions{})
	mustDir(t)(cacheOpen(db, cache, path("a")))
	tx := must[kv.Transaction](t)(db.Begin())
	defer tx.Cancel()
	if err := tx.SetOption(kv.OptionBypassUnreadable, 0); err != nil {
		t.Fatal(err)
	}
	if err := directory.Root().Remove(ctx, tx, path("a")); err != nil {
		t.Fatal(err)
	}
	if d, err := cache.Open(ctx, tx, path("a")); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("removed in the transaction, the cache opens %v, %v", d, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
}

// TestCacheAfterForeignAnnouncement: a metadata version key written without
// Invalidate is found out, and said.
func TestCacheAfterForeignAnnouncement(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	mustDir(t)(directory.Root().Create(ctx, db, path("a")))
	cache := newCache(t, db, directory.CacheOptions{})
	tx := must[kv.Transaction](t)(db.Begin())
	defer tx.Cancel()
	tx.Atomic(kv.SetVersionstampedValue, []byte(kv.MetadataVersionKey), make([]byte, 14))
	_, err := cache.Open(ctx, tx, path("a"))
	if kv.CodeOf(err) != kv.CodeAccessedUnreadable || !strings.Contains(err.Error(), "Invalidate") {
		t.Errorf("%v, want 1036 and what to do", err)
	}
	metadataVersion := func(tx kv.ReadTransaction) (string, bool) {
		value, ok, err := directory.MetadataVersion(ctx, tx)
		if err != nil {
			t.Error(err)
		}
		return value, ok
	}
	transact(t, db, func(tx kv.Transaction) error {
		if value, ok := metadataVersion(tx); !ok || value != "" && !enginetest.Cluster { // others may have announced there
			t.Errorf("before the first announcement: %x, %t", value, ok)
		}
		if err := directory.Invalidate(ctx, tx); err != nil {
			return err
		}
		if value, ok := metadataVersion(tx.Snapshot()); ok {
			t.Errorf("announced in the transaction: %x", value)
		}
		_, err := cache.Open(ctx, tx, path("a"))
		return err
	})
	transact(t, db, func(tx kv.Transaction) error {
		if value, ok := metadataVersion(tx); len(value) != kv.VersionstampSize || !ok {
			t.Errorf("after the commit: %x, %t", value, ok)
		}
		return nil
	})
}

// TestCacheForgetsNothingUncommitted: what only a transaction that was given
// up has seen is never remembered, not even with a prefix that comes again.
func TestCacheForgetsNothingUncommitted(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	layer := must[*directory.Layer](t)(directory.New(directory.Options{AllowManualPrefixes: true}))
	cache := must[*directory.Cache](t)(directory.NewCache(layer, db, directory.CacheOptions{}))
	for range 3 {
		tx := must[kv.Transaction](t)(db.Begin())
		created := mustDir(t)(layer.CreatePrefix(ctx, tx, path("a"), []byte{0x41}))
		for range 2 {
			wantPrefix(t, created, mustDir(t)(cache.Open(ctx, tx, path("a"))))
			wantPrefix(t, created, mustDir(t)(cache.OpenRead(ctx, tx.Snapshot(), path("a"))))
			wantPrefix(t, created, mustDir(t)(cache.CreateOrOpen(ctx, tx, path("a"))))
		}
		tx.Cancel()
		if d, err := cacheOpen(db, cache, path("a")); !errors.Is(err, directory.ErrNotFound) {
			t.Fatalf("nothing was committed, the cache has %v, %v", d, err)
		}
	}
}

// TestCacheAtOlderVersion: a transaction does not see directories that were
// created after the version that it reads.
func TestCacheAtOlderVersion(t *testing.T) {
	ctx, db := context.Background(), enginetest.Open(t)
	old := must[kv.Transaction](t)(db.Begin())
	defer old.Cancel()
	must[int64](t)(old.GetReadVersion().Get(ctx))
	mustDir(t)(directory.Root().Create(ctx, db, path("a")))
	cache := newCache(t, db, directory.CacheOptions{})
	mustDir(t)(cacheOpen(db, cache, path("a")))
	if d, err := cache.Open(ctx, old, path("a")); !errors.Is(err, directory.ErrNotFound) {
		t.Errorf("the old transaction sees %v, %v", d, err)
	}
}

// TestCacheRounds is the budget: nothing in steady state, one round after
// another directory was removed.
func TestCacheRounds(t *testing.T) {
	ctx, engine := context.Background(), enginetest.Open(t)
	db := faults.NewCounter(engine)
	mustDir(t)(directory.Root().CreateOrOpen(ctx, db, path("tenants", "1", "orders"), directory.ElementAs(1, directory.Partition)))
	mustDir(t)(directory.Root().Create(ctx, db, path("other")))
	cache := newCache(t, db, directory.CacheOptions{})
	verifying := newCache(t, db, directory.CacheOptions{VerifyNodes: true})
	open := func(c *directory.Cache) faults.Counts {
		counts, err := db.Measure(func() error {
			return db.Transact(ctx, func(tx kv.Transaction) error {
				_, err := c.CreateOrOpen(ctx, tx, path("tenants", "1", "orders"), directory.ElementAs(1, directory.Partition))
				return err
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return counts
	}
	wantRounds := func(when string, c *directory.Cache, want int) {
		t.Helper()
		if counts := open(c); counts.Rounds != want {
			t.Errorf("%s: %v, want %d rounds", when, counts, want)
		}
	}
	wantRounds("first", cache, 5)
	wantRounds("steady", cache, 0)
	open(verifying)
	wantRounds("verified", verifying, 1)
	if err := directory.Root().Remove(ctx, db, path("other")); err != nil {
		t.Fatal(err)
	}
	wantRounds("after a removal elsewhere", cache, 1)
	wantRounds("steady again", cache, 0)
}

func TestCacheExpectations(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		cache := newCache(t, db, directory.CacheOptions{})
		mustDir(t)(directory.Root().Create(context.Background(), db, path("a", "b"), directory.As("two")))
		for range 2 { // loaded, remembered
			mustDir(t)(cacheOpen(db, cache, path("a", "b"), directory.As("two"), directory.ElementAs(0, "")))
			_, err := cacheOpen(db, cache, path("a", "b"), directory.As("one"))
			if !errors.Is(err, directory.ErrLayer) || !strings.HasSuffix(err.Error(), `has the layer "two", expected was "one"`) {
				t.Errorf("As: %v", err)
			}
			_, err = cacheOpen(db, cache, path("a", "b"), directory.ElementAs(0, directory.Partition))
			if !errors.Is(err, directory.ErrLayer) || !strings.HasSuffix(err.Error(), `: ("a") has the layer "", expected was "partition"`) {
				t.Errorf("ElementAs: %v", err)
			}
			if _, err = cacheOpen(db, cache, nil); !errors.Is(err, directory.ErrRoot) {
				t.Errorf("the empty path: %v", err)
			}
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	ctx, engine := context.Background(), enginetest.Open(t)
	db := faults.NewCounter(engine)
	cache := newCache(t, db, directory.CacheOptions{MaxEntries: 4})
	for i := range 20 {
		mustDir(t)(directory.Root().Create(ctx, db, path(fmt.Sprint(i))))
	}
	rounds := func(i int) int {
		counts, err := db.Measure(func() error { _, err := cacheOpen(db, cache, path(fmt.Sprint(i))); return err })
		if err != nil {
			t.Fatal(err)
		}
		return counts.Rounds
	}
	for i := range 20 {
		rounds(i)
	}
	remembered := 0
	for i := range 20 {
		if rounds(i) == 0 {
			remembered++
		}
	}
	if remembered > 4 {
		t.Errorf("%d directories remembered, at most 4 wanted", remembered)
	}
	if _, err := directory.NewCache(directory.Root(), db, directory.CacheOptions{MaxEntries: -1}); err == nil {
		t.Error("a negative bound was accepted")
	}
}
