// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
)

// tryToOpen opens the database and says whether it could.
func tryToOpen(dir string) {
	db, err := Open(dir)
	switch {
	case errors.As(err, new(*LockedError)):
		fmt.Println("locked")
	case err != nil:
		die(err)
	default:
		fmt.Println("open", db.Close())
	}
}

// TestLockBehindLinks has a database open and uses its folder by other paths: each use
// is refused, and none releases the lock.
func TestLockBehindLinks(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "parent", "db")
	link, parent := filepath.Join(root, "link"), filepath.Join(root, "linked")
	for name, to := range map[string]string{link: dir, parent: filepath.Dir(dir)} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	db := openDir(t, dir)
	transact(t, db, func(tx kv.Transaction) { tx.Set([]byte("key"), nil) })
	ctx := t.Context()
	for _, path := range []string{dir, link, filepath.Join(parent, "db")} {
		for name, use := range map[string]func() error{
			"Open":     func() error { _, err := Open(path); return err },
			"ReadOnly": func() error { _, err := OpenWith(path, Options{ReadOnly: true}); return err },
			"Verify":   func() error { _, err := Verify(ctx, path, Options{}); return err },
			"ReadLog":  func() error { return ReadLog(ctx, path, Options{}, func(LogEntry) error { return nil }) },
			"Backup":   func() error { _, err := db.Backup(ctx, path); return err },
			"Restore":  func() error { _, err := Restore(ctx, path, filepath.Join(root, "copy"), Options{}); return err },
			"onto it":  func() error { _, err := Restore(ctx, path, path, Options{}); return err },
		} {
			if err := use(); !errors.As(err, new(*LockedError)) {
				t.Errorf("%s of %s: %v, want a LockedError", name, path, err)
			}
			_, out := startChild(t, "try", dir)
			if line, err := out.ReadString('\n'); line != "locked\n" {
				t.Fatalf("after %s of %s another process says %q, %v", name, path, line, err)
			}
		}
	}
	closeTest(t, db)
	closeTest(t, openDir(t, link))
}

// TestMovedWhileOpen renames the folder of an open database and begins another at its
// path: neither gets anything of the other, and the first one says what has happened.
func TestMovedWhileOpen(t *testing.T) {
	for name, move := range map[string]func(t *testing.T, dir, moved string){
		"renamed": func(t *testing.T, dir, moved string) {
			if err := os.Rename(dir, moved); err != nil {
				t.Fatal(err)
			}
		},
		"without its LOCK": func(t *testing.T, dir, moved string) {
			if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(dir, moved); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(moved, dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, moved := filepath.Join(root, "db"), filepath.Join(root, "moved")
			first, err := OpenWith(dir, Options{segmentSize: 1000, noAbsorb: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := commitNumbered(t, first, 1); err != nil {
				t.Fatal(err)
			}
			move(t, dir, moved)
			acknowledged := 1
			if name == "renamed" {
				second := openDir(t, dir)
				if last := checkNumbered(t, second); last != 0 {
					t.Errorf("the new database begins with transaction %d", last)
				}
				defer func() {
					if err := commitNumbered(t, second, 1); err != nil {
						t.Error(err)
					}
					closeTest(t, second)
					if last, err := reopenDir(t, dir); err != nil || last != 1 {
						t.Errorf("the new database ends with transaction %d, %v", last, err)
					}
				}()
			}
			for err = error(nil); err == nil && acknowledged < 1000; {
				if err = commitNumbered(t, first, acknowledged+1); err == nil {
					acknowledged++
				}
			}
			if !errors.Is(err, ErrMoved) || kv.CodeOf(err) != kv.CodeIOError {
				t.Errorf("after %d transactions the first database says %v, want ErrMoved", acknowledged, err)
			}
			if err := first.Close(); !errors.Is(err, ErrMoved) {
				t.Errorf("its Close says %v", err)
			}
			if last, err := reopenDir(t, moved); err != nil || last < acknowledged || last > acknowledged+1 {
				t.Errorf("its folder ends with transaction %d, want %d; %v", last, acknowledged, err)
			}
		})
	}
}

// TestReplacedWhileRead reads a folder that has no file LOCK, as a new backup, and puts
// others in its place: the file system must not give them the number of the first.
func TestReplacedWhileRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "backup")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := hold(vfs.Default, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for i := range 100 {
		if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Guard(vfs.Default).List(dir); !errors.Is(err, ErrMoved) {
			t.Fatalf("in the place of the folder is another, the %d-th: %v, want ErrMoved", i+1, err)
		}
	}
}

// reopenDir verifies and opens a folder, and returns the number of its last transaction.
func reopenDir(t *testing.T, dir string) (int, error) {
	t.Helper()
	if _, err := Verify(t.Context(), dir, Options{}); err != nil {
		return 0, err
	}
	db := openDir(t, dir)
	defer closeTest(t, db)
	return checkNumbered(t, db), nil
}
