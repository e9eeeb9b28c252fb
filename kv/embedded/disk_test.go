// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
)

// smallDisk is a file system with so much room: a write that does not fit is
// done in part and fails with ENOSPC, as on a real disk. Files that are removed
// give nothing back.
type smallDisk struct {
	vfs.FS
	room *atomic.Int64
}

func newSmallDisk(room int64) smallDisk {
	d := smallDisk{vfs.NewMem(), new(atomic.Int64)}
	d.room.Store(room)
	return d
}

// take takes room for n bytes and returns for how many there was any.
func (d smallDisk) take(n int) int {
	left := d.room.Add(-int64(n))
	if left >= 0 {
		return n
	}
	return max(0, n+int(max(left, -int64(n))))
}

func (d smallDisk) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return smallFile{f, d}, nil
}

// Create implements [vfs.FS]. A file needs room for its name.
func (d smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.take(64) < 64 {
		return nil, syscall.ENOSPC
	}
	return d.file(d.FS.Create(name, c))
}

// OpenReadWrite implements [vfs.FS].
func (d smallDisk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.file(d.FS.OpenReadWrite(name, c, o...))
}

// ReuseForWrite implements [vfs.FS].
func (d smallDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.file(d.FS.ReuseForWrite(from, to, c))
}

// Unwrap implements [vfs.FS].
func (d smallDisk) Unwrap() vfs.FS { return d.FS }

type smallFile struct {
	vfs.File
	disk smallDisk
}

// Write implements [io.Writer].
func (f smallFile) Write(p []byte) (int, error) {
	fits := f.disk.take(len(p))
	n, err := f.File.Write(p[:fits])
	if err == nil && fits < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// WriteAt implements [io.WriterAt].
func (f smallFile) WriteAt(p []byte, at int64) (int, error) {
	fits := f.disk.take(len(p))
	n, err := f.File.WriteAt(p[:fits], at)
	if err == nil && fits < len(p) {
		err = syscall.ENOSPC
	}
	return n, err
}

// TestDiskFull lets the disk run full at some moment. The commit that does not
// fit fails, and all after it, with an error that says so; reads go on. While
// the disk is full opening fails with the same error, or works, and loses
// nothing; once there is room the database goes on where it was.
func TestDiskFull(t *testing.T) {
	random, rounds := seed.Rand(t), 60
	if testing.Short() {
		rounds = 15
	}
	filled, opened := 0, 0
	for range rounds {
		disk := newSmallDisk(3000 + random.Int64N(60_000))
		acknowledged := fillDisk(t, disk)
		if acknowledged > 0 {
			filled++
		}
		for range 3 {
			disk.room.Store(random.Int64N(12_000)) // little, or too little
			if openFull(t, disk, acknowledged) {
				opened++
			}
		}
		disk.room.Store(1 << 30)
		db := openTest(t, crashOptions(disk, false))
		if last := checkNumbered(t, db); last != acknowledged {
			t.Fatalf("with room again transaction %d is the last, want %d", last, acknowledged)
		}
		for i := acknowledged + 1; i < acknowledged+30; i++ {
			if err := commitNumbered(t, db, i); err != nil {
				t.Fatal(err)
			}
		}
		closeTest(t, db)
	}
	t.Logf("%d of %d disks were filled by commits; %d of %d openings with little room succeeded", filled, rounds, opened, 3*rounds)
	if filled == 0 || opened == 0 || opened == 3*rounds {
		t.Error("every disk was too small, or none")
	}
}

// fillDisk commits numbered transactions until the disk is full, and returns the
// number of the last that is there after opening again.
func fillDisk(t *testing.T, disk smallDisk) int {
	t.Helper()
	db, err := Open("db", crashOptions(disk, false))
	if err != nil {
		expectFull(t, err)
		return 0
	}
	last, err := commitUntilFault(t, db)
	expectFull(t, err)
	if kv.CodeOf(err) != kv.CodeIOError || kv.IsRetryable(err) {
		t.Errorf("the code of %v is %d, want %d", err, kv.CodeOf(err), kv.CodeIOError)
	}
	expectFull(t, commitNumbered(t, db, last+2))
	if seen := checkNumbered(t, db); seen != last {
		t.Errorf("reads see transaction %d, want %d", seen, last)
	}
	_ = db.Close() // it may say what has failed
	if !errors.Is(err, kv.ErrOutcomeUnknown) {
		return last
	}
	return recoverFull(t, disk, last)
}

func expectFull(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
}

// recoverFull finds out whether the transaction after last, which has an
// unknown outcome, is there: on a copy of the disk that has room.
func recoverFull(t *testing.T, disk smallDisk, last int) int {
	t.Helper()
	larger := newSmallDisk(1 << 30)
	if ok, err := vfs.Clone(disk.FS, larger.FS, "db", "db"); err != nil || !ok {
		t.Fatalf("copying the disk: %t, %v", ok, err)
	}
	db := openTest(t, crashOptions(larger, false))
	defer closeTest(t, db)
	found := checkNumbered(t, db)
	if found != last && found != last+1 {
		t.Fatalf("transaction %d is the last, want %d or one more", found, last)
	}
	return found
}

// openFull opens the database while the disk is nearly full, and reports whether that
// worked: then it must hold what it held.
func openFull(t *testing.T, disk smallDisk, want int) bool {
	t.Helper()
	db, err := Open("db", crashOptions(disk, false))
	if err != nil {
		expectFull(t, err)
		return false
	}
	if last := checkNumbered(t, db); last != want {
		t.Fatalf("with little room transaction %d is the last, want %d", last, want)
	}
	_ = db.Close() // it may say that the disk is full
	return true
}

// openFiles returns the names of the files below dir that this process has open.
func openFiles(t *testing.T, dir string) (open []string) {
	t.Helper()
	numbers, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("this system does not tell which files a process has open: %v", err)
	}
	for _, n := range numbers {
		if name, err := os.Readlink("/proc/self/fd/" + n.Name()); err == nil && strings.HasPrefix(name, dir) {
			open = append(open, name)
		}
	}
	return open
}

// TestMendAndOpenAgain lets the disk run full under the same database again and
// again, in one process: each time it is closed, the disk is mended, and the
// database is opened and goes on. Nothing of the closed ones is left.
func TestMendAndOpenAgain(t *testing.T) {
	random, dir, goroutines := seed.Rand(t), t.TempDir(), goleak.IgnoreCurrent()
	disk := smallDisk{vfs.Default, new(atomic.Int64)}
	o := crashOptions(disk, false)
	o.memTable = 32 << 10 // the base's tables fail, too
	acknowledged, inBase := 0, 0
	for range 12 {
		disk.room.Store(1 << 30)
		db, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		last := checkNumbered(t, db)
		if last != acknowledged && last != acknowledged+1 {
			t.Fatalf("transaction %d is the last, %d was acknowledged", last, acknowledged)
		}
		disk.room.Store(2000 + random.Int64N(20_000))
		acknowledged, err = fillUp(t, db, last)
		expectFull(t, err)
		if seen := checkNumbered(t, db); seen != acknowledged {
			t.Fatalf("reads see transaction %d, want %d", seen, acknowledged)
		}
		if db.disk.base.IsSealed() {
			inBase++
		}
		_ = db.Close() // it may say what has failed
		if files := openFiles(t, dir); len(files) > 0 {
			t.Fatalf("files are open: %q", files)
		}
	}
	goleak.VerifyNone(t, goroutines)
	t.Logf("%d transactions; the base failed in %d of 12 rounds", acknowledged, inBase)
}

// fillUp commits numbered transactions after last, and absorbs and flushes after
// each, until something fails. It returns the last that was acknowledged.
func fillUp(t *testing.T, db *Database, last int) (int, error) {
	t.Helper()
	for i := last + 1; i < last+2000; i++ {
		if err := commitNumbered(t, db, i); err != nil {
			return i - 1, err
		}
		err := db.disk.absorber.Pass()
		if err == nil && i%7 == 0 {
			_, err = db.disk.base.Flush(nil)
		}
		if err = errors.Join(err, db.disk.fault.Get()); err != nil {
			return i, db.disk.fault.Raise("moving commits to the base", err)
		}
	}
	t.Fatal("the disk is not full")
	return 0, nil
}

// commitUntilError commits numbered transactions until one fails. It returns how
// many succeeded.
func commitUntilError(t *testing.T, db *Database) (acknowledged int) {
	t.Helper()
	for commitNumbered(t, db, acknowledged+1) == nil {
		if acknowledged++; acknowledged == 2000 {
			t.Fatal("nothing has failed")
		}
	}
	return acknowledged
}

// TestMendBeforeClose lets the disk run full within a record of the log, and makes
// room before the database is closed: Close writes then, and what it writes must
// not count the part of the record to the log.
func TestMendBeforeClose(t *testing.T) {
	random := seed.Rand(t)
	for _, lazy := range []bool{false, true} {
		for range 20 {
			disk := newSmallDisk(1 << 30)
			o := Options{FS: disk, NoSync: lazy, noAbsorb: true}
			db := openTest(t, o)
			disk.room.Store(1000 + random.Int64N(3000))
			acknowledged := commitUntilError(t, db)
			disk.room.Store(1 << 30)
			_ = db.Close() // it may say what has failed
			db = openTest(t, o)
			if last := checkNumbered(t, db); last != acknowledged && last != acknowledged+1 {
				t.Fatalf("transaction %d is the last, %d was acknowledged", last, acknowledged)
			}
			closeTest(t, db)
		}
	}
}

// TestNoSyncAfterAFailedOne lets one sync of the log fail. A later one may succeed
// although the disk has dropped what the first was to bring to it, so nothing is
// built upon one: the log is neither synced again nor ended by another file.
func TestNoSyncAfterAFailedOne(t *testing.T) {
	var armed, failed, later atomic.Bool
	fs := newFaultyFS(vfs.NewMem(), func(op errorfs.Op) bool {
		switch {
		case failed.Load() && onLog(errorfs.OpFileSyncData, errorfs.OpFileSync, errorfs.OpCreate, errorfs.OpFileWrite)(op):
			later.Store(true)
		case !failed.Load() && armed.Load() && onLog(errorfs.OpFileSyncData)(op):
			failed.Store(true)
			return true
		}
		return false
	})
	fs.left.Store(0)
	db := openTest(t, Options{FS: fs, noAbsorb: true})
	if err := commitNumbered(t, db, 1); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if err := commitNumbered(t, db, 2); !errors.Is(err, errorfs.ErrInjected) {
		t.Fatalf("the commit gets %v", err)
	}
	_ = db.Close() // it may say what has failed
	if later.Load() {
		t.Error("the log was written to or synced after a sync had failed")
	}
	db = openTest(t, Options{FS: fs, noAbsorb: true})
	if last := checkNumbered(t, db); last < 1 {
		t.Errorf("transaction %d is the last, 1 was acknowledged", last)
	}
	closeTest(t, db)
}

// TestSlowDiskAndMetrics lets the disk hang while the log is synced, and while a segment
// is removed: the metrics do not wait for it, nor do commits for the removal.
func TestSlowDiskAndMetrics(t *testing.T) {
	for name, kind := range map[string]errorfs.OpKind{"a sync": errorfs.OpFileSyncData, "a removal": errorfs.OpRename} {
		t.Run(name, func(t *testing.T) {
			disk := newColdDisk(func(op errorfs.Op) bool {
				return onLog(kind)(op) && !strings.Contains(op.Path, "spare-")
			})
			o := crashOptions(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(disk.inject)), false)
			o.noAbsorb = true
			db := openTest(t, o)
			defer closeTest(t, db)
			defer disk.block(false)
			if err := commitNumbered(t, db, 1); err != nil {
				t.Fatal(err)
			}
			disk.block(true)
			if kind == errorfs.OpRename {
				go func() { _, _ = db.disk.log.Drop(db.disk.log.LastVersion()) }()
			} else {
				go func() { _ = commitNumberedIn(context.Background(), db, 2) }()
			}
			disk.await(t, 1)
			within(t, "the metrics", func() { db.Metrics() })
			if kind == errorfs.OpRename {
				within(t, "a commit", func() { _ = commitNumberedIn(context.Background(), db, 2) })
			}
		})
	}
}

// within calls do, and fails the test if that hangs.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-bounded(t).Done():
		t.Fatalf("%s: the call hangs", what)
	}
}
