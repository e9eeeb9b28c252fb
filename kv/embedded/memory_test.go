// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
)

// overwriteValues writes the same three values, 300 kB in all, n times, and calls after
// each time.
func overwriteValues(t *testing.T, db *Database, n int, after func(i int)) {
	t.Helper()
	for i := range n {
		transact(t, db, func(tx kv.Transaction) {
			for k := range 3 {
				tx.Set([]byte{byte(k)}, make([]byte, kv.MaxValueSize))
			}
		})
		after(i)
	}
}

// TestHistoryEndsAfterFiveSeconds overwrites 300 kB eight times a second for two
// minutes, in the time of the test. What is older than five seconds is not in
// memory, and when the database has been idle for as long nothing but the live
// data is.
func TestHistoryEndsAfterFiveSeconds(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *Database{
		"in memory": func(t *testing.T) *Database {
			db, err := OpenMemory()
			if err != nil {
				t.Fatal(err)
			}
			return db
		},
		"on disk": func(t *testing.T) *Database {
			db, err := Open(t.TempDir(), Options{NoSync: true, CacheSize: 1 << 20, memTable: 1 << 20, noAbsorb: true})
			if err != nil {
				t.Fatal(err)
			}
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := open(t)
				defer closeTest(t, db)
				before, most := heap(), int64(0)
				overwriteValues(t, db, 960, func(i int) {
					time.Sleep(time.Second / 8)
					if db.disk != nil && i%8 == 7 {
						if err := db.disk.absorber.Pass(); err != nil {
							t.Fatal(err)
						}
					}
					if i%240 == 239 {
						most = max(most, heap()-before)
					}
				})
				time.Sleep(2 * kv.MaxTransactionAge)
				synctest.Wait()
				idle := heap() - before
				t.Logf("the heap has grown by up to %d kB; %d kB when idle", most>>10, idle>>10)
				if most > 40<<20 { // forty versions of 300 kB are 12 MB
					t.Errorf("the heap has grown by %d bytes", most)
				}
				if idle > 8<<20 {
					t.Errorf("the idle database takes %d bytes", idle)
				}
				runtime.KeepAlive(db)
			})
		})
	}
}

// TestHistoryIsBounded overwrites 300 kB a thousand times while no time passes: the
// past versions stay within their share of memory.
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer closeTest(t, db)
		before := heap()
		overwriteValues(t, db, 1000, func(int) {})
		took := heap() - before
		t.Logf("the heap has grown by %d kB", took>>10)
		if took > 60<<20 {
			t.Errorf("the heap has grown by %d bytes", took)
		}
		runtime.KeepAlive(db)
	})
}

// TestHistoryBytes moves all commits to the base, some of them while a transaction
// reads: what the metrics say that the past takes goes when nothing of it is held, and
// recent versions can be read again.
func TestHistoryBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open("db", Options{FS: vfs.NewMem(), WindowSize: 64 << 20, noAbsorb: true})
		if err != nil {
			t.Fatal(err)
		}
		defer closeTest(t, db)
		for range 3 {
			overwriteValues(t, db, 30, func(int) {})
			if m := db.Metrics(); m.HistoryBytes == 0 || m.HistoryBytes > 64<<20/32+1<<20 {
				t.Errorf("after the commits the history takes %d bytes", m.HistoryBytes)
			}
			time.Sleep(2 * kv.MaxTransactionAge)
			synctest.Wait()
			if err := db.disk.absorber.Pass(); err != nil {
				t.Fatal(err)
			}
			if m := db.Metrics(); m.WindowBytes != 0 || m.HistoryBytes != 0 {
				t.Errorf("idle, the window takes %d bytes and the history %d", m.WindowBytes, m.HistoryBytes)
			}
		}
		transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("1")) })
		version := readVersion(t, begin(t, db))
		transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), []byte("2")) })
		runtime.GC() // so that only the history can hold the view
		tx := begin(t, db)
		tx.SetReadVersion(version)
		if got, err := tx.Get([]byte("key")).Get(t.Context()); err != nil || string(got) != "1" {
			t.Errorf("at the version before the last commit: %q, %v", got, err)
		}
	})
}

// TestMemoryIsBounded writes four times Memory, and reads it: what is alive stays well within Memory,
// although the writers are faster than the disk, and so does what the log has beyond the window.
func TestMemoryIsBounded(t *testing.T) {
	if !alone(t) {
		return
	}
	const memory = 32 << 20
	before := heap()
	db, err := Open(t.TempDir(), Options{NoSync: true, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	var (
		mu           sync.Mutex
		most, logged int64
		seen         int
	)
	sample := func() {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen%400 == 0 {
			size, _ := db.disk.log.Backlog()
			logged = max(logged, size-db.disk.absorber.WindowUse().Bytes)
			most = max(most, heap()-before)
		}
	}
	n := 4000
	if testing.Short() {
		n = 1600
	}
	writeRandom(t, db, n, 30, 1000, sample)
	for range 400 {
		begin := binary.BigEndian.AppendUint64([]byte("a key of "), rand.Uint64())
		err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
			_, err := readPairs(tx, kv.KeyRange{Begin: begin, End: []byte("b")}, kv.RangeOptions{Limit: 100})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	sample()
	t.Logf("the heap has grown by up to %d kB; the log had up to %d kB beyond the window", most>>10, logged>>10)
	if most > memory*3/4 {
		t.Errorf("the heap has grown by %d bytes, want at most %d", most, memory*3/4)
	}
	if logged > memory/4 {
		t.Errorf("the log had %d bytes beyond the window, want at most %d", logged, memory/4)
	}
}

// TestWindowNeedsNoCollections writes as fast as it can while nothing is collected: the engine knows
// which versions nobody reads any more, and the window stays near the limit at which commits wait.
func TestWindowNeedsNoCollections(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const memory = 32 << 20
	db := openOnDisk(t, Options{NoSync: true, Memory: memory})
	var (
		mu   sync.Mutex
		most int64
	)
	writeRandom(t, db, 1500, 30, 1000, func() {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, db.disk.absorber.WindowUse().Bytes)
	})
	t.Logf("the window had up to %d kB", most>>10)
	if limit := int64(memory / 8 * 3 / 2); most > limit {
		t.Errorf("the window had %d bytes, want at most %d", most, limit)
	}
}

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
