// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// allocated returns how many objects, and how many bytes of them, do allocates.
func allocated(do func()) (objects, bytes int64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.Mallocs - before.Mallocs), int64(after.TotalAlloc - before.TotalAlloc)
}

// expectLinear compares the work for n things with that for 8 n, counted in what is
// allocated: where each thing looks at all others it grows by 64.
func expectLinear(t *testing.T, what string, work func(t *testing.T, n int) (objects, bytes int64)) {
	t.Helper()
	const n = 500
	objects, bytes := work(t, n)
	moreObjects, moreBytes := work(t, 8*n)
	t.Logf("%s: %d objects, %d bytes for %d; %d objects, %d bytes for %d", what, objects, bytes, n, moreObjects, moreBytes, 8*n)
	if moreObjects > 16*objects {
		t.Errorf("%s: %d objects for %d, %d for %d", what, objects, n, moreObjects, 8*n)
	}
	if moreBytes > 16*bytes {
		t.Errorf("%s: %d bytes for %d, %d for %d", what, bytes, n, moreBytes, 8*n)
	}
}

// TestManyVersionstampedKeys sets many versionstamped keys in one transaction,
// among other writes: each costs the same.
func TestManyVersionstampedKeys(t *testing.T) {
	for name, key := range map[string]func(i int) []byte{
		"one prefix":     func(int) []byte { return []byte("log/") },
		"many prefixes":  func(i int) []byte { return fmt.Appendf(nil, "log/%06d/", i) },
		"falling prefix": func(i int) []byte { return fmt.Appendf(nil, "log/%06d/", 1_000_000-i) },
	} {
		expectLinear(t, name, func(t *testing.T, n int) (int64, int64) {
			db, err := OpenMemory()
			if err != nil {
				t.Fatal(err)
			}
			defer closeTest(t, db)
			tx := begin(t, db)
			return allocated(func() {
				for i := range n {
					prefix := key(i)
					stamped := append(prefix, make([]byte, 10)...)
					stamped = binary.LittleEndian.AppendUint32(stamped, uint32(len(prefix)))
					tx.Atomic(kv.SetVersionstampedKey, stamped, []byte("value"))
					tx.Set(fmt.Appendf(nil, "index/%06d", i), nil)
				}
			})
		})
	}
}

// watchOneKey makes n armed watches on one key.
func watchOneKey(t *testing.T, db *Database, key []byte, n int) []kv.Future[struct{}] {
	t.Helper()
	watches := make([]kv.Future[struct{}], n)
	tx := begin(t, db)
	for i := range watches {
		watches[i] = tx.Watch(key)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return watches
}

// TestManyWatchesOnOneKey fires, and cancels, many watches on one key: each costs
// the same.
func TestManyWatchesOnOneKey(t *testing.T) {
	key := []byte("key")
	for name, end := range map[string]func(t *testing.T, db *Database, watches []kv.Future[struct{}]){
		"fire": func(t *testing.T, db *Database, _ []kv.Future[struct{}]) {
			transact(t, db, func(tx kv.Transaction) { tx.Set(key, []byte("new")) })
		},
		"fire by a range": func(t *testing.T, db *Database, _ []kv.Future[struct{}]) {
			transact(t, db, func(tx kv.Transaction) { tx.ClearRange(everything) })
		},
		"cancel": func(_ *testing.T, _ *Database, watches []kv.Future[struct{}]) {
			for _, w := range watches {
				w.Cancel()
			}
		},
		"close": func(t *testing.T, db *Database, _ []kv.Future[struct{}]) { closeTest(t, db) },
	} {
		expectLinear(t, name, func(t *testing.T, n int) (objects, bytes int64) {
			db, err := OpenMemory()
			if err != nil {
				t.Fatal(err)
			}
			transact(t, db, func(tx kv.Transaction) { tx.Set(key, []byte("old")) })
			watches := watchOneKey(t, db, key, n)
			objects, bytes = allocated(func() { end(t, db, watches) })
			for _, w := range watches {
				if !w.Ready() {
					t.Fatal("a watch waits on")
				}
			}
			if left := db.watches.Count(); left != 0 {
				t.Errorf("%d watches are outstanding", left)
			}
			closeTest(t, db)
			return objects + int64(n), bytes + int64(64*n) // the least that each may cost
		})
	}
}
