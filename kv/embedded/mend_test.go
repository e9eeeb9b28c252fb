// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/kazahana-db/kazahana/internal/seed"
	"go.uber.org/goleak"
)

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
		db, err := OpenWith(dir, o)
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

// fillUp commits numbered transactions behind last, and absorbs and flushes after
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
