// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// TestRestore restores a backup: the copy is whole, a database of its own, and
// the backup is as it was.
func TestRestore(t *testing.T) {
	fs := filledDatabase(t)
	db := openAt(t, fs, "db")
	info := backupTest(t, db, "backup")
	before := contentsOf(t, fs, "backup")
	for _, dir := range []string{"restored/once", "restored/twice"} {
		got, err := Restore(t.Context(), "backup", dir, Options{FS: fs})
		if err != nil || got != info {
			t.Fatalf("restored %+v, %v, want %+v", got, err, info)
		}
	}
	if diff := cmp.Diff(before, contentsOf(t, fs, "backup")); diff != "" {
		t.Errorf("restoring has changed the backup (-before +after):\n%s", diff)
	}
	verifyTest(t, fs, "restored/once")
	restored := openAt(t, fs, "restored/once")
	if last := checkNumbered(t, restored); last != 60 {
		t.Errorf("the last transaction is %d, want 60", last)
	}
	if restored.disk.identity == db.disk.identity {
		t.Errorf("both databases are %s", db.disk.identity)
	}
	tx := begin(t, restored)
	tx.Set([]byte("key"), nil)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := tx.GetCommittedVersion(); err != nil || v <= info.Version {
		t.Errorf("a commit after restoring has version %d, %v; the backup has %d", v, err, info.Version)
	}
	identity := restored.disk.identity
	closeTest(t, restored)
	restored = openAt(t, fs, "restored/once")
	if restored.disk.identity != identity {
		t.Errorf("opened again it is %s, not %s", restored.disk.identity, identity)
	}
	closeTest(t, restored)
	closeTest(t, db)
}

// TestRestoreRefusals restores a folder that is not a backup, and to where it must not.
func TestRestoreRefusals(t *testing.T) {
	fs := filledDatabase(t)
	db := openAt(t, fs, "db")
	backupTest(t, db, "backup")
	backupTest(t, db, "damaged")
	for name, data := range contentsOf(t, fs, "damaged") {
		if path.Ext(name) == ".sst" {
			damaged := []byte(data)
			damaged[len(damaged)/3]++
			overwrite(t, fs, name, damaged)
			break
		}
	}
	if err := files.WriteSynced(fs, "unfinished", nil); err != nil {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	try := func(ctx context.Context, from, to string) error {
		_, err := Restore(ctx, from, to, Options{FS: fs})
		t.Logf("%s to %s: %v", from, to, err)
		return err
	}
	if locked := (*LockedError)(nil); !errors.As(try(t.Context(), "backup", "db"), &locked) {
		t.Error("restored over an open database")
	}
	closeTest(t, db)
	if err := try(t.Context(), "backup", "db"); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("over a closed database: %v", err)
	}
	if err := try(t.Context(), "db", "new"); err == nil {
		t.Error("restored from a folder that is not a backup")
	}
	if err := try(t.Context(), "nowhere", "new"); !errors.Is(err, iofs.ErrNotExist) {
		t.Errorf("from nowhere: %v", err)
	}
	if corrupt := (*fault.CorruptError)(nil); !errors.As(try(t.Context(), "damaged", "new"), &corrupt) {
		t.Error("restored a damaged backup")
	}
	if err := try(cancelled, "backup", "new"); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is done: %v", err)
	}
	if names, err := fs.List(""); err != nil || slices.Contains(names, "new") || slices.Contains(names, "new.partial") {
		t.Errorf("left over: %q, %v", names, err)
	}
	if last := checkNumbered(t, openAt(t, fs, "db")); last != 60 {
		t.Errorf("the database that was not restored over has transaction %d", last)
	}
}

// TestRestoreFaults lets every operation of a restore fail in turn.
func TestRestoreFaults(t *testing.T) {
	mem := filledDatabase(t)
	db := openAt(t, mem, "db")
	backupTest(t, db, "backup")
	closeTest(t, db)
	for n := int64(0); ; n++ {
		fs := newFaultyFS(mem, func(op errorfs.Op) bool { return op.Kind != errorfs.OpFileClose })
		fs.left.Store(n)
		_, err := Restore(t.Context(), "backup", "new", Options{FS: fs})
		if hits := fs.hits.Load(); hits > 0 && err == nil {
			t.Fatalf("operation %d failed and the restore did not", n)
		} else if hits == 0 {
			t.Logf("%d operations", n)
			break
		}
		if _, err := mem.Stat("new"); err == nil {
			verifyTest(t, mem, "new")
			if err := mem.RemoveAll("new"); err != nil {
				t.Fatal(err)
			}
		}
		expectUnopened(t, mem, "new.partial")
	}
	restored := openAt(t, mem, "new")
	if last := checkNumbered(t, restored); last != 60 {
		t.Errorf("the last transaction is %d, want 60", last)
	}
	closeTest(t, restored)
}

// TestOnDisk backs up, verifies and restores on the operating system's file
// system.
func TestOnDisk(t *testing.T) {
	dir := t.TempDir()
	db := openDir(t, filepath.Join(dir, "db"))
	transact(t, db, func(tx kv.Transaction) { writeNumbered(tx, 1) })
	info := backupTest(t, db, filepath.Join(dir, "a", "backup"))
	closeTest(t, db)
	got, err := Restore(t.Context(), filepath.Join(dir, "a", "backup"), filepath.Join(dir, "b", "db"), Options{})
	if err != nil || got != info {
		t.Fatalf("restored %+v, %v, want %+v", got, err, info)
	}
	for _, name := range []string{"db", "a/backup", "b/db"} {
		if _, err := Verify(t.Context(), filepath.Join(dir, name), Options{}); err != nil {
			t.Error(err)
		}
		db := openDir(t, filepath.Join(dir, name))
		if last := checkNumbered(t, db); last != 1 {
			t.Errorf("%s has transaction %d", name, last)
		}
		closeTest(t, db)
	}
}

// TestTwoFillOneFolder begins to fill a folder before each operation of a restore into
// it, of one that ends well and one that is given up: the second is refused, or what it
// fills is not disturbed, and a folder that one of them says is whole is.
func TestTwoFillOneFolder(t *testing.T) {
	root := t.TempDir()
	backup, to := filepath.Join(root, "backup"), filepath.Join(root, "to")
	db := openDir(t, filepath.Join(root, "db"))
	for i := range 20 {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
	}
	backupTest(t, db, backup)
	closeTest(t, db)
	for _, giveUp := range []bool{false, true} {
		refused, began, ended := 0, 0, false
		for n := 0; !ended; n++ {
			ctx, cancel := context.WithCancel(t.Context())
			left := n
			var second *partialDir
			fs := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !strings.HasPrefix(op.Path, to) {
					return nil
				}
				if left--; left == -1 {
					var err error
					if second, err = newPartialDir(files.Private{FS: vfs.Default}, to); err != nil {
						second = nil
					}
				}
				if giveUp && strings.HasSuffix(op.Path, logName(1)) {
					cancel()
				}
				return nil
			}))
			_, err := Restore(ctx, backup, to, Options{FS: fs})
			cancel()
			ended = left >= 0
			switch {
			case second == nil:
				refused++
				if giveUp != (err != nil) {
					t.Fatalf("at operation %d the second was refused, and the first ends with %v", n, err)
				}
			case err == nil:
				began++
				_ = second.abandon(nil)
			default:
				began++
				if again := errors.Join(second.copyBackup(t.Context(), backup), second.finish()); again != nil {
					t.Fatalf("at operation %d the second began, and ends with %v; the first with %v", n, again, err)
				}
			}
			if err == nil || second != nil {
				if last, err := reopenDir(t, to); err != nil || last != 20 {
					t.Fatalf("at operation %d: the folder has transaction %d, %v", n, last, err)
				}
			}
			if err := errors.Join(os.RemoveAll(to), os.RemoveAll(to+partialSuffix)); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("given up %t: the second was refused at %d operations and began at %d", giveUp, refused, began)
	}
}

// TestRestoreOfForeignFiles restores backups with other files in their folders, some
// with the names of its own.
func TestRestoreOfForeignFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there, and there are no pipes in folders")
	}
	dir := t.TempDir()
	db := openAt(t, vfs.Default, filepath.Join(dir, "db"))
	transact(t, db, func(tx kv.Transaction) { writeNumbered(tx, 1) })
	backup := filepath.Join(dir, "backup")
	backupTest(t, db, backup)
	closeTest(t, db)
	secret := filepath.Join(dir, "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("private"), 0o600),
		os.Mkdir(filepath.Join(backup, "lost+found"), 0o700),
		os.Mkdir(filepath.Join(backup, baseDir, "000001.d"), 0o700),
		os.Symlink(secret, filepath.Join(backup, "link")),
		os.Symlink(secret, filepath.Join(backup, baseDir, "link.sst"))); err != nil {
		t.Fatal(err)
	}
	makePipe(t, filepath.Join(backup, "pipe"))
	restored := filepath.Join(dir, "restored")
	if _, err := Restore(t.Context(), backup, restored, Options{}); err != nil {
		t.Fatal(err)
	}
	for name := range contentsOf(t, vfs.Default, restored) {
		if base := filepath.Base(name); base == "link" || base == "link.sst" || base == "pipe" || base == "lost+found" {
			t.Errorf("%s was copied", name)
		}
	}
	for _, name := range []string{"999999.log", filepath.Join(baseDir, "999999.sst")} {
		link := filepath.Join(backup, name)
		for kind, put := range map[string]func() error{
			"link":   func() error { return os.Symlink(secret, link) },
			"folder": func() error { return os.Mkdir(link, 0o700) },
			"pipe":   func() error { makePipe(t, link); return nil },
		} {
			if err := put(); err != nil {
				t.Fatal(err)
			}
			if _, err := Restore(t.Context(), backup, filepath.Join(dir, "refused"), Options{}); err == nil || !strings.Contains(err.Error(), link) {
				t.Errorf("a %s %s: %v", kind, name, err)
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestRestoreOfOpenedBackup restores a backup that was opened since, and written to.
func TestRestoreOfOpenedBackup(t *testing.T) {
	fs := filledDatabase(t)
	db := openAt(t, fs, "db")
	info := backupTest(t, db, "backup")
	closeTest(t, db)
	opened := openAt(t, fs, "backup")
	if err := commitNumbered(t, opened, 61); err != nil {
		t.Fatal(err)
	}
	closeTest(t, opened)
	got, err := Restore(t.Context(), "backup", "restored", Options{FS: fs})
	if err != nil || got.Version <= info.Version {
		t.Errorf("the restored database has version %d, %v; the backup had %d before it was written to", got.Version, err, info.Version)
	}
	restored := openAt(t, fs, "restored")
	if last := checkNumbered(t, restored); last != 61 {
		t.Errorf("transaction %d is the last, want 61", last)
	}
	closeTest(t, restored)
}

func makePipe(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mkfifo", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
