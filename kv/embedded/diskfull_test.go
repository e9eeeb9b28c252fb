// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

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
	db, err := OpenWith("db", crashOptions(disk, false))
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

// recoverFull finds out whether the transaction behind last, whose outcome is
// unknown, is there: on a copy of the disk that has room.
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
	db, err := OpenWith("db", crashOptions(disk, false))
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
