// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	iofs "io/fs"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// readOnlyDisk is a file system that refuses every write.
func readOnlyDisk(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose {
			return &iofs.PathError{Op: "write", Path: op.Path, Err: syscall.EROFS}
		}
		return nil
	}))
}

// crashedDatabase is what a crash leaves of a database with tables and segments,
// whose last transaction is number 60.
func crashedDatabase(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	db := openTest(t, crashOptions(fs, false))
	defer closeTest(t, db)
	for i := range 60 {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
		if i < 50 {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return wholeCopy(fs)
}

// TestReadOnly opens databases that were closed, crashed, or are backups, on disks
// that are read-only, full, or neither: all is there, nothing can be written, and
// nothing changes.
func TestReadOnly(t *testing.T) {
	backup := filledDatabase(t)
	db := openAt(t, backup, "db")
	backupTest(t, db, "backup")
	closeTest(t, db)
	for name, folder := range map[string]struct {
		fs  *vfs.MemFS
		dir string
	}{
		"closed": {filledDatabase(t), "db"}, "crashed": {crashedDatabase(t), "db"}, "backup": {backup, "backup"},
	} {
		full := smallDisk{folder.fs, newSmallDisk(0).room}
		for disk, fs := range map[string]vfs.FS{"usual": folder.fs, "read-only": readOnlyDisk(folder.fs), "full": full} {
			t.Run(name+", "+disk, func(t *testing.T) {
				defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
				before := contentsOf(t, folder.fs, folder.dir)
				db, err := OpenWith(folder.dir, Options{FS: fs, ReadOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				if last := checkNumbered(t, db); last != 60 {
					t.Errorf("transaction %d is the last, want 60", last)
				}
				if err := commitNumbered(t, db, 61); !errors.Is(err, ErrReadOnly) || kv.CodeOf(err) != kv.CodeTransactionReadOnly || kv.IsRetryable(err) {
					t.Errorf("a commit gets %v, want ErrReadOnly", err)
				}
				if _, err := db.Backup(t.Context(), "another"); !errors.Is(err, ErrReadOnly) {
					t.Errorf("a backup gets %v, want ErrReadOnly", err)
				}
				if last := checkNumbered(t, db); last != 60 {
					t.Errorf("after a refused commit transaction %d is the last, want 60", last)
				}
				if m := db.Metrics(); m.Fault != "" || m.WindowWrites == 0 && name == "closed" {
					t.Errorf("the metrics are %v", m)
				}
				closeTest(t, db)
				if err := commitNumbered(t, db, 61); !errors.Is(err, kv.ErrClosed) {
					t.Errorf("after Close a commit gets %v", err)
				}
				if diff := cmp.Diff(before, contentsOf(t, folder.fs, folder.dir)); diff != "" {
					t.Errorf("reading has changed files (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestReadOnlyRefusals opens for reading what is not there, damaged, or open.
func TestReadOnlyRefusals(t *testing.T) {
	fs := filledDatabase(t)
	if _, err := OpenWith("nothing", Options{FS: fs, ReadOnly: true}); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := fs.Stat("nothing"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if err := fs.MkdirAll("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWith("empty", Options{FS: fs, ReadOnly: true}); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	db := openAt(t, fs, "db")
	if _, err := OpenWith("db", Options{FS: fs, ReadOnly: true}); !errors.As(err, new(*LockedError)) {
		t.Errorf("a database that is open: %v", err)
	}
	closeTest(t, db)
	names := segmentsOf(t, fs)
	if err := fs.Remove("db/" + names[len(names)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenWith("db", Options{FS: fs, ReadOnly: true}); !errors.As(err, new(*fault.CorruptError)) {
		t.Errorf("a database without its newest segment: %v", err)
	}
}

// TestReadOnlyOwnsRestoredFolder opens a folder that was never opened for reading: it has
// one owner then, too.
func TestReadOnlyOwnsRestoredFolder(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			dir := fs.PathJoin(t.TempDir(), "db")
			db := openAt(t, fs, dir)
			transact(t, db, func(tx kv.Transaction) { writeNumbered(tx, 1) })
			backupTest(t, db, dir+"-backup")
			closeTest(t, db)
			dir += "-backup"
			reading, err := OpenWith(dir, Options{FS: fs, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := OpenWith(dir, Options{FS: fs}); !errors.As(err, new(*LockedError)) {
				t.Errorf("a folder that is open for reading: %v, want a LockedError", err)
			}
			closeTest(t, reading)
			if _, err := fs.Stat(fs.PathJoin(dir, lockName)); !errors.Is(err, iofs.ErrNotExist) {
				t.Errorf("the file LOCK afterwards: %v", err)
			}
			closeTest(t, openAt(t, fs, dir))
		})
	}
}
