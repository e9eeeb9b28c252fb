// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// heap returns the bytes of live objects.
func heap() int64 {
	for range 3 { // pools and finalizers keep some for a while
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// alone reports whether the test has a process for itself. If not, it runs the
// test in a new one: what earlier tests have left, and is freed during this one, would
// be counted.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv("KAZAHANA_ALONE") != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "KAZAHANA_ALONE=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("in a process of its own: %v", err)
	}
	return false
}

func openOnDisk(t testing.TB, o Options) *Database {
	t.Helper()
	o.NoSync, o.CacheSize, o.memTable = true, 1<<20, 2<<20
	db, err := Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// writeRandom commits n transactions of so many random keys with values of size
// bytes, from several goroutines, calls after each time, and returns how many
// bytes of keys and values that were.
func writeRandom(t testing.TB, db *Database, n, keys, size int, after func()) int64 {
	t.Helper()
	var (
		left  atomic.Int64
		wg    sync.WaitGroup
		value = make([]byte, size)
	)
	left.Store(int64(n))
	for range 8 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				err := db.Transact(t.Context(), func(tx kv.Transaction) error {
					for range keys {
						//persistvet:ignore freshvalue any key will do
						tx.Set(binary.BigEndian.AppendUint64([]byte("a key of "), rand.Uint64()), value)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				after()
			}
		})
	}
	wg.Wait()
	return int64(n * keys * (17 + size))
}

// TestWindowBytes compares the account of the window with the memory that it
// takes.
func TestWindowBytes(t *testing.T) {
	if !alone(t) {
		return
	}
	for _, c := range []struct{ keys, size int }{{1, 0}, {20, 20}, {100, 1000}} {
		db := openOnDisk(t, Options{noAbsorb: true, WindowSize: 1 << 40})
		db.head.ReleasePast()
		before := heap()
		writeRandom(t, db, 40_000/c.keys, c.keys, c.size, func() {})
		db.head.ReleasePast()
		account := db.disk.absorber.WindowUse().Bytes
		took := heap() - before
		for begun := time.Now(); took > account*3/2 && time.Since(begun) < hang; { // a slow machine frees what the commits have used later
			time.Sleep(100 * time.Millisecond)
			db.head.ReleasePast()
			took = heap() - before
		}
		t.Logf("values of %d bytes, %d in a transaction: the window takes %d bytes; the account says %d", c.size, c.keys, took, account)
		if took > account*3/2 || account > took*5/2 {
			t.Errorf("values of %d bytes, %d in a transaction: the window takes %d bytes; the account says %d", c.size, c.keys, took, account)
		}
	}
}

// TestWindowIsBounded writes far more than the window may hold, and watches it.
func TestWindowIsBounded(t *testing.T) {
	const limit = 4 << 20
	transactions := 3000
	if testing.Short() {
		transactions = 800
	}
	db := openOnDisk(t, Options{WindowSize: limit, segmentSize: 1 << 20, flushAt: 4 << 20})
	before := heap()
	var (
		mu           sync.Mutex
		most, logged int64
		took         int64
		seen         int
	)
	written := writeRandom(t, db, transactions, 10, 4000, func() {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, db.disk.absorber.WindowUse().Bytes)
		size, _ := db.disk.log.Backlog()
		logged = max(logged, size)
		if seen++; seen%(transactions/8) == 0 {
			took = max(took, heap()-before)
		}
	})
	u := db.disk.absorber.WindowUse()
	t.Logf("%d MB written; the window had up to %d bytes, the log %d, the heap %d; commits waited %d times, %v in all",
		written>>20, most, logged, took, u.Delays, u.DelayTime)
	if most > limit*5/4 { // a batch more
		t.Errorf("the window had %d bytes; the limit is %d", most, limit)
	}
	if logged > 6*limit {
		t.Errorf("the log had %d bytes", logged)
	}
	if took > 48<<20 {
		t.Errorf("while %d bytes were written the heap has grown by %d", written, took)
	}
}

// TestFlushesDropLog moves commits to the base in small steps while the log is long: the base goes
// to the disk only when that makes the log shorter, so not once for each step.
func TestFlushesDropLog(t *testing.T) {
	const n, flushAt = 200, 100_000
	db := openOnDisk(t, Options{WindowSize: 8 << 20, segmentSize: flushAt / 2, flushAt: flushAt, noAbsorb: true, window: 3600 * kv.VersionsPerSecond})
	var versions []int64
	for range n {
		writeRandom(t, db, 1, 10, 1000, func() {})
		versions = append(versions, db.head.Published().Version())
	}
	logged, _ := db.disk.log.Backlog()
	for _, v := range versions {
		if err := errors.Join(db.disk.absorber.AbsorbTo(v), db.disk.absorber.Pass()); err != nil {
			t.Fatal(err)
		}
	}
	flushes, most := db.disk.base.Store().Metrics().Flush.Count, logged/flushAt+1
	left, _ := db.disk.log.Backlog()
	t.Logf("the base went to the disk %d times for a log of %d bytes, of which %d are left", flushes, logged, left)
	if flushes > most || left > 2*flushAt {
		t.Errorf("the base went to the disk %d times for a log of %d bytes, want at most %d; %d bytes are left", flushes, logged, most, left)
	}
}

// TestOpenReaderKeepsItsVersion lets the window grow too large while a
// transaction reads: what it reads stays, and commits go on.
func TestOpenReaderKeepsItsVersion(t *testing.T) {
	// However slow the machine is, the transaction does not become too old.
	db := openOnDisk(t, Options{WindowSize: 4 << 20, noAbsorb: true, window: 3600 * kv.VersionsPerSecond})
	key := []byte("key")
	transact(t, db, func(tx kv.Transaction) { tx.Set(key, []byte("old")) })
	tx := begin(t, db)
	if _, err := tx.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		db.committer.Refresh() // the absorber is at something else: the newest view is replaced
	}
	transact(t, db, func(tx kv.Transaction) { tx.Set(key, []byte("new")) })
	writeRandom(t, db, 80, 10, 3000, func() {}) // more than half of the limit
	if u := db.disk.absorber.WindowUse(); u.Bytes <= u.Limit/2 {
		t.Fatal("the window is not large enough for this test")
	}
	for range 3 {
		if err := db.disk.absorber.Pass(); err != nil {
			t.Fatal(err)
		}
		runtime.GC() // finds the views that no transaction reads
	}
	value, err := tx.Get(key).Get(t.Context())
	if err != nil || string(value) != "old" {
		t.Errorf("the open transaction reads %q, %v", value, err)
	}
	tx.Set(key, nil)
	if err := tx.Commit(t.Context()); !kv.IsConflict(err) {
		t.Errorf("its commit gets %v, want a conflict", err)
	}
}

// TestHeldReaderDoesNotBlock holds a reader while much more is written than the
// window may hold: commits wait until it is too old, and go on. The time is virtual: it does
// not become too old before they wait.
func TestHeldReaderDoesNotBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := openOnDisk(t, Options{WindowSize: 1 << 20, window: kv.VersionsPerSecond / 2})
		key := []byte("key")
		transact(t, db, func(tx kv.Transaction) { tx.Set(key, []byte("old")) })
		held := begin(t, db)
		if _, err := held.Get(key).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		writeRandom(t, db, 1000, 10, 1000, func() {})
		if db.disk.absorber.WindowUse().Delays == 0 {
			t.Error("no commit has waited")
		}
		if _, err := held.Get([]byte("unknown")).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("the held reader gets %v, want CodeTransactionTooOld", err)
		}
		held.Set(key, nil)
		if err := held.Commit(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
			t.Errorf("its commit gets %v, want CodeTransactionTooOld", err)
		}
	})
}

// TestIsolationUnderPressure moves money while other commits keep the window
// full, so that what conflicts are found by is forgotten early: nothing is lost.
func TestIsolationUnderPressure(t *testing.T) {
	random, transfers := seed.Rand(t), 600
	if testing.Short() {
		transfers = 150
	}
	db := openOnDisk(t, Options{WindowSize: leastWindowSize})
	var (
		left, done atomic.Int64
		writers    sync.WaitGroup
	)
	left.Store(int64(transfers))
	stop := background(t, func() error {
		return db.Transact(t.Context(), func(tx kv.Transaction) error {
			for range 40 {
				//persistvet:ignore freshvalue any key will do
				tx.Set(binary.BigEndian.AppendUint64([]byte("filler"), rand.Uint64N(500)), make([]byte, 5000))
			}
			return nil
		})
	})
	for range 6 {
		r := rand.New(rand.NewPCG(random.Uint64(), 1))
		writers.Go(func() {
			for left.Add(-1) >= 0 || db.disk.absorber.WindowUse().Delays < 10 {
				from := r.IntN(bankAccounts)
				if err := moveMoney(t.Context(), db, from, (from+1+r.IntN(bankAccounts-1))%bankAccounts, 1+r.Int64N(9)); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	writers.Wait()
	stop()
	balances, entries := bankState(t, db, 1<<62)
	if len(entries) != int(done.Load()) {
		t.Errorf("%d transfers have left %d entries", done.Load(), len(entries))
	}
	if want := replayBank(entries); balances != want {
		t.Errorf("balances are %v, entries make them %v", balances, want)
	}
	m := db.Metrics()
	t.Logf("%d commits, %d conflicts, %d too old, %d delays, %d writes absorbed", m.Commits, m.Conflicts, m.TooOld, m.Delays, m.AbsorbedWrites)
	if m.Delays == 0 || m.AbsorbedWrites == 0 {
		t.Error("the window was never full")
	}
}

// TestOldReaderLetsGo tells a reader that it is too old; what it held is freed
// although the transaction is kept.
func TestOldReaderLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, err := OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer closeTest(t, db)
		key := []byte("key")
		transact(t, db, func(tx kv.Transaction) { tx.Set(key, make([]byte, 1000)) })
		tx := begin(t, db)
		if _, err := tx.Get(key).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		held := weak.Make(db.head.Published()) // which the transaction reads
		time.Sleep(kv.MaxTransactionAge - 200*time.Millisecond)
		if _, err := tx.Get(key).Get(t.Context()); err != nil {
			t.Errorf("shortly before it is too old: %v", err)
		}
		time.Sleep(400 * time.Millisecond)
		for range 2000 {
			transact(t, db, func(tx kv.Transaction) { tx.Set(key, nil) })
		}
		db.head.ReleasePast() // it was the newest view until now
		if runtime.GC(); held.Value() == nil {
			t.Fatal("the view of an open transaction is gone before it has asked")
		}
		for range 2 {
			if _, err := tx.Get(key).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionTooOld {
				t.Errorf("the read gets %v, want CodeTransactionTooOld", err)
			}
		}
		if runtime.GC(); held.Value() != nil {
			t.Error("the transaction holds a view that it may not read")
		}
		runtime.KeepAlive(tx)
	})
}

// TestFinishedTransactionLetsGo keeps transactions that have committed, one that read only and one that
// was cancelled: they do not keep in memory what they have read.
func TestFinishedTransactionLetsGo(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	var kept []kv.Transaction
	for _, end := range []string{"a write", "no write", "Cancel"} {
		tx := begin(t, db)
		if _, err := tx.Get([]byte("key")).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		read := weak.Make(db.head.Published())
		if end == "a write" {
			tx.Set([]byte("key"), []byte("written"))
		}
		if end == "Cancel" {
			tx.Cancel()
		} else if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, tx)
		transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), nil) })
		db.head.ReleasePast()
		if runtime.GC(); read.Value() != nil {
			t.Errorf("a transaction that ended with %s keeps what it has read", end)
		}
	}
	runtime.KeepAlive(kept)
}

// TestQueueIsBounded begins more commits than may wait.
func TestQueueIsBounded(t *testing.T) {
	db := openOnDisk(t, Options{WindowSize: 1 << 20})
	resume := db.committer.Pause() // nothing is committed
	var futures []kv.Future[struct{}]
	for i := range 30 {
		tx := begin(t, db)
		tx.Set(fmt.Append(nil, i), make([]byte, kv.MaxValueSize))
		futures = append(futures, tx.CommitAsync())
	}
	refused := 0
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, f := range futures {
		if _, err := f.Get(ctx); kv.CodeOf(err) == kv.CodeCommitProxyMemoryLimitExceeded && kv.IsRetryable(err) {
			refused++
		}
	}
	resume()
	if refused == 0 || refused > 25 {
		t.Errorf("%d of 30 commits of 100 kB are refused where 1 MB may wait", refused)
	}
	done := 0
	for _, f := range futures {
		_, err := f.Get(t.Context())
		if err != nil && !errors.Is(err, &kv.Error{Code: kv.CodeCommitProxyMemoryLimitExceeded}) {
			t.Error(err)
		} else if err == nil {
			done++
		}
	}
	if done+refused != 30 {
		t.Errorf("%d commits done, %d refused, of 30", done, refused)
	}
}

// TestCloseWhileCommitsWait closes a database with a full window.
func TestCloseWhileCommitsWait(t *testing.T) {
	db := openOnDisk(t, Options{WindowSize: 1 << 20, noAbsorb: true})
	reader := begin(t, db)
	if _, err := reader.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	var waiting []kv.Future[struct{}]
	for i := range 25 {
		tx := begin(t, db)
		tx.Set(fmt.Append(nil, i), make([]byte, kv.MaxValueSize))
		f := tx.CommitAsync()
		if i < 10 {
			if _, err := f.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else if i < 20 {
			waiting = append(waiting, f)
		}
	}
	db.committer.Drain()
	if u := db.disk.absorber.WindowUse(); u.Bytes <= u.Limit {
		t.Fatal("the window is not full")
	}
	closeTest(t, db)
	for _, f := range waiting {
		if _, err := f.Get(t.Context()); err != nil {
			t.Errorf("a commit that had begun ends with %v", err)
		}
	}
}
