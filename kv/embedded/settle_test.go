// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// logWrites returns how many writes an opening would read from the log of a closed folder.
func logWrites(t *testing.T, fs vfs.FS) (writes int) {
	t.Helper()
	err := ReadLog(t.Context(), "db", Options{FS: fs}, func(e LogEntry) error {
		writes += e.Writes
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return writes
}

// commitSome commits a write of its own for each number.
func commitSome(t *testing.T, db *Database, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		transact(t, db, func(tx kv.Transaction) { tx.Set(fmt.Appendf(nil, "key %03d", i), []byte("value")) })
	}
}

// commitConflict commits a write conflict range without a write.
func commitConflict(t *testing.T, db *Database) {
	t.Helper()
	transact(t, db, func(tx kv.Transaction) {
		if err := tx.AddWriteConflictKey([]byte("conflict")); err != nil {
			t.Error(err)
		}
	})
}

// expectSome checks that the writes up to a number are there.
func expectSome(t *testing.T, db *Database, n int) {
	t.Helper()
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		pairs, err := readPairs(tx, kv.PrefixRange([]byte("key ")), kv.RangeOptions{})
		if len(pairs) != n {
			t.Errorf("%d pairs, want %d", len(pairs), n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCloseSettles: after Close an opening reads nothing from the log.
func TestCloseSettles(t *testing.T) {
	fs := vfs.NewMem()
	for round := range 3 {
		db := openTest(t, Options{FS: fs})
		expectSome(t, db, 100*min(round, 2))
		if n := db.Metrics().WindowWrites; n > 0 {
			t.Errorf("round %d: %d writes were read from the log", round, n)
		}
		if round < 2 {
			commitSome(t, db, 100*round, 100*round+100)
			commitConflict(t, db)
		}
		closeTest(t, db)
		if n := logWrites(t, fs); n > 0 {
			t.Errorf("round %d: after Close the log has %d writes", round, n)
		}
		verifyTest(t, fs, "db")
	}
}

// TestCloseWhileAbsorbing closes a database whose absorber has just begun a round of several steps:
// the base gets all steps of it, and what was committed since, before the log is dropped.
func TestCloseWhileAbsorbing(t *testing.T) {
	const keys = 3500
	synctest.Test(t, func(t *testing.T) {
		var db *Database
		o, closed := Options{FS: vfs.NewMem()}, make(chan error, 1)
		o.syncLog = func(sync func() error) error {
			if !db.closed.Load() {
				commitSome(t, db, 0, 1)
				go func() { closed <- db.Close() }()
				time.Sleep(time.Second) // Close waits for the absorber then
			}
			return sync()
		}
		db = openTest(t, o)
		transact(t, db, func(tx kv.Transaction) {
			for i := range keys {
				tx.Set(fmt.Appendf(nil, "key of the round %04d", i), []byte("value"))
			}
		})
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		o.syncLog = nil
		db = openTest(t, o)
		expectSome(t, db, keys+1)
		closeTest(t, db)
	})
}

// TestCloseUnderLoad closes a small database again and again while transactions of many keys
// are committed and moved to the base: each that was acknowledged is there afterwards.
func TestCloseUnderLoad(t *testing.T) {
	random, o := seed.Rand(t), Options{FS: vfs.NewMem(), Memory: leastMemory}
	checked, committed := 0, 0
	check := func() *Database {
		db := openTest(t, o)
		expectRow(t, db, checked, committed)
		checked = committed
		return db
	}
	for range 20 {
		db, done := check(), make(chan struct{})
		wait := time.Duration(1+random.IntN(50)) * time.Millisecond
		go func() {
			defer close(done)
			for n := 1 + random.IntN(3000); commitRow(db, committed, committed+n) == nil; n = 1 + random.IntN(3000) {
				committed += n
			}
		}()
		time.Sleep(wait)
		closeTest(t, db)
		<-done
	}
	closeTest(t, check())
}

// rowKey is a key of a row.
func rowKey(i int) []byte { return fmt.Appendf(nil, "key %08d", i) }

// commitRow commits a row of keys in one transaction.
func commitRow(db *Database, from, to int) error {
	return db.Transact(context.Background(), func(tx kv.Transaction) error {
		for i := from; i < to; i++ {
			tx.Set(rowKey(i), []byte("value"))
		}
		return nil
	})
}

// expectRow checks that a row of keys is there.
func expectRow(t *testing.T, db *Database, from, to int) {
	t.Helper()
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		pairs, err := readPairs(tx, kv.KeyRange{Begin: rowKey(from), End: rowKey(to)}, kv.RangeOptions{})
		if err == nil && len(pairs) != to-from {
			t.Errorf("%d of %d acknowledged keys are there", len(pairs), to-from)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestIdleSettles: the log of a database to which nothing is written is dropped after some seconds,
// so that a process that is killed later leaves nothing to read.
func TestIdleSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		db := openTest(t, Options{FS: fs})
		commitSome(t, db, 0, 100)
		commitConflict(t, db)
		time.Sleep(4 * time.Second)
		if m := db.Metrics(); m.WindowWrites != 100 {
			t.Errorf("after 4 s the window has %d writes, want all", m.WindowWrites)
		}
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if bytes, segments := db.disk.log.Backlog(); bytes > 100 || segments != 1 {
			t.Errorf("after 10 s the log has %d bytes in %d segments", bytes, segments)
		}
		before := db.disk.base.Store().Metrics().Flush.Count
		time.Sleep(time.Minute)
		if after := db.disk.base.Store().Metrics().Flush.Count; after != before {
			t.Errorf("idle, the base went to the disk %d times more", after-before)
		}
		expectSome(t, db, 100)
		closeTest(t, db)
	})
}

// TestBackupWhileLogIsDropped begins a backup between two segments that are dropped: once it is over
// Close drops the others.
func TestBackupWhileLogIsDropped(t *testing.T) {
	mem := vfs.NewMem()
	var db *Database
	var armed atomic.Bool
	unpin := make(chan func(), 1)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if (op.Kind == errorfs.OpRename || op.Kind == errorfs.OpRemove) && strings.HasSuffix(op.Path, "000001.log") && armed.CompareAndSwap(true, false) {
			unpin <- db.disk.log.Pin()
		}
		return nil
	}))
	db = openTest(t, Options{FS: fs, noAbsorb: true, segmentSize: 200})
	commitSome(t, db, 0, 100)
	armed.Store(true)
	if err := db.disk.absorber.Settle(); err != nil {
		t.Fatal(err)
	}
	(<-unpin)()
	db.disk.options.noAbsorb = false
	closeTest(t, db)
	if n := logWrites(t, mem); n > 0 {
		t.Errorf("after Close the log has %d writes", n)
	}
}

// TestCrashWhileSettling takes the machine's power away at each moment of what Close moves to the
// base: whatever was acknowledged is there, and the folder is whole.
func TestCrashWhileSettling(t *testing.T) {
	random := seed.Rand(t)
	for n := 1; ; n++ {
		mem := vfs.NewCrashableMem()
		var left atomic.Int64
		crash := make(chan *vfs.MemFS, 1) // has an element once the power is gone
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(errorfs.Op) error {
			if left.Add(-1) == 0 {
				crash <- mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: random})
			}
			return nil
		}))
		db := openTest(t, crashOptions(fs, false))
		for i := range 30 {
			if err := commitNumbered(t, db, i+1); err != nil {
				t.Fatal(err)
			}
			if i == n%30 {
				if err := db.disk.absorber.Pass(); err != nil {
					t.Fatal(err)
				}
			}
		}
		left.Store(int64(n))
		if err := db.disk.absorber.Settle(); err != nil {
			t.Fatal(err)
		}
		closeTest(t, db)
		if len(crash) == 0 {
			t.Logf("%d moments", n)
			return
		}
		crashed := <-crash
		verifyTest(t, crashed, "db")
		db = openTest(t, crashOptions(crashed, false))
		if last := checkNumbered(t, db); last != 30 {
			t.Fatalf("after a crash at operation %d the database has transaction %d, want 30", n, last)
		}
		closeTest(t, db)
	}
}
