// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// TestBeginAmongFiles opens folders that hold no database, and others that do.
func TestBeginAmongFiles(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string
		refused bool
	}{
		{"empty", nil, false},
		{"file", []string{"main.go"}, true},
		{"folders", []string{"src/main.go", "README"}, true},
		{"hidden", []string{".gitignore", ".git/config", "lost+found/x"}, false},
		{"another store", []string{"LOCK", "CURRENT", "000003.log", "MANIFEST-000001"}, true},
		{"first opening that crashed", []string{"LOCK", "HOLDER", "IDENTITY.new", "base/.x"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range c.files {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			before, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			db, err := Open(dir)
			if !c.refused {
				if err != nil {
					t.Fatal(err)
				}
				closeTest(t, db)
				return
			}
			if !errors.Is(err, iofs.ErrExist) || !strings.Contains(err.Error(), "AllowOtherFiles") {
				t.Fatalf("Open: %v, want an error that names the option", err)
			}
			if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
				t.Errorf("the refusal left %v, %v; it found %v", after, err, before)
			}
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(dir, Options{AllowOtherFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	closeTest(t, db)
	closeTest(t, openDir(t, dir)) // the database is there by now
}

// TestPrivateFiles looks at the modes of what a database and a backup are made of.
func TestPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // Windows has no such modes
	}
	root := t.TempDir()
	dir := filepath.Join(root, "parent", "db")
	for name, fs := range map[string]vfs.FS{"usual": nil, "wrapped": wrappedSystem{vfs.Default}} {
		db, err := Open(filepath.Join(dir, name), Options{FS: fs, segmentSize: 1000, noAbsorb: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			if err := commitNumbered(t, db, i+1); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(db.disk.absorber.Pass(), db.disk.base.Store().Flush()); err != nil {
			t.Fatal(err)
		}
		backupTest(t, db, filepath.Join(dir, name+"-backup"))
		closeTest(t, db)
		if _, err := Restore(t.Context(), filepath.Join(dir, name+"-backup"), filepath.Join(dir, name+"-restored"), Options{FS: fs}); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d iofs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen < 20 {
		t.Errorf("%d files were looked at, %v", seen, err)
	}
}

// wrappedSystem is a file system of a program that wraps the operating system's.
type wrappedSystem struct{ vfs.FS }

func (w wrappedSystem) Unwrap() vfs.FS { return w.FS }

// TestPartialNames opens folders with names that a backup uses while it fills them.
func TestPartialNames(t *testing.T) {
	fs := vfs.NewMem()
	for _, name := range []string{"new.partial", "empty.partial", "locked.partial"} {
		if name != "new.partial" {
			if err := fs.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if name == "locked.partial" {
			lock, err := lockDir(fs, name)
			if err != nil {
				t.Fatal(err)
			}
			if err := lock.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(name, Options{FS: fs}); !errors.Is(err, ErrUnfinished) {
			t.Errorf("%s: %v, want ErrUnfinished", name, err)
		}
	}
	lock, err := lockDir(fs, "locked.partial") // a backup that begins, and has not marked the folder yet
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open("locked.partial", Options{FS: fs}); !errors.As(err, new(*LockedError)) {
		t.Errorf("a backup that begins: %v, want a LockedError", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := newPartialDir(fs, "running")
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		if _, err := Open("running.partial", Options{FS: fs, ReadOnly: readOnly}); !errors.As(err, new(*LockedError)) {
			t.Errorf("a backup that is being written, read only %t: %v, want a LockedError", readOnly, err)
		}
	}
	if err := s.abandon(nil); err != nil {
		t.Fatal(err)
	}
}

// emptyHanded is a file system that has no room for a file and returns one all the
// same, as that of the operating system does.
type emptyHanded struct {
	vfs.FS
	full *string
}

func (e emptyHanded) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, *e.full) {
		return noFile{}, &iofs.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	return e.FS.Create(name, c)
}

type noFile struct{ vfs.File }

func (noFile) Close() error { return os.ErrInvalid }

// TestSegmentThatCannotBegin fills the disk where the log needs a new file: the error
// is the disk's alone.
func TestSegmentThatCannotBegin(t *testing.T) {
	full := "none"
	db := openTest(t, Options{FS: emptyHanded{vfs.NewMem(), &full}, segmentSize: 500, noAbsorb: true})
	full = logName(2)
	var err error
	for i := 1; err == nil && i < 100; i++ {
		err = commitNumbered(t, db, i)
	}
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, os.ErrInvalid) {
		t.Errorf("the commit fails with %v", err)
	}
	if err := db.Close(); errors.Is(err, os.ErrInvalid) {
		t.Errorf("Close fails with %v", err)
	}
}

// TestOpenFile checks that the name of a file in place of a folder is an error that says so.
func TestOpenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		db, err := Open(file, Options{ReadOnly: readOnly})
		if err == nil {
			_ = db.Close()
		}
		if want := "file is a file: name the folder of the database"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read-only %v: %v, want: %s", readOnly, err, want)
		}
	}
}

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
// with number 60 as the last transaction.
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
				db, err := Open(folder.dir, Options{FS: fs, ReadOnly: true})
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
	if _, err := Open("nothing", Options{FS: fs, ReadOnly: true}); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := fs.Stat("nothing"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	if err := fs.MkdirAll("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("empty", Options{FS: fs, ReadOnly: true}); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	db := openAt(t, fs, "db")
	if _, err := Open("db", Options{FS: fs, ReadOnly: true}); !errors.As(err, new(*LockedError)) {
		t.Errorf("a database that is open: %v", err)
	}
	closeTest(t, db)
	names := segmentsOf(t, fs)
	if err := fs.Remove("db/" + names[len(names)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("db", Options{FS: fs, ReadOnly: true}); !errors.As(err, new(*fault.CorruptError)) {
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
			reading, err := Open(dir, Options{FS: fs, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(dir, Options{FS: fs}); !errors.As(err, new(*LockedError)) {
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

// TestOptionsValidate makes every fault at once, and the least that is allowed.
func TestOptionsValidate(t *testing.T) {
	err := Options{Memory: leastMemory - 1, CacheSize: -1, WindowSize: leastWindowSize - 1}.Validate()
	if err == nil || !strings.Contains(err.Error(), "Memory is 1048575") || !strings.Contains(err.Error(), "CacheSize is -1") || !strings.Contains(err.Error(), "WindowSize is 1048575") {
		t.Errorf("two faults give %v", err)
	}
	if _, err := Open("db", Options{FS: vfs.NewMem(), WindowSize: -1}); err == nil {
		t.Error("a database opens with a negative WindowSize")
	}
	for _, o := range []Options{{}, {WindowSize: leastWindowSize}} {
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenMemory(Options{}, Options{}); err == nil {
		t.Error("two Options are taken")
	}
}
