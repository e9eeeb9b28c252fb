// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/kv"
)

// TestCloseInFlight closes a database among reads, ranges, commits, watches and
// backups: each ends, with success or ErrClosed, and what was acknowledged is
// there when it is opened again.
func TestCloseInFlight(t *testing.T) {
	before := goleak.IgnoreCurrent()
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		closeInFlight(t)
	}
	goleak.VerifyNone(t, before)
}

func closeInFlight(t *testing.T) {
	t.Helper()
	fs := vfs.NewMem()
	db := openTest(t, Options{FS: fs})
	transact(t, db, func(tx kv.Transaction) {
		for i := range 3000 {
			tx.Set(fmt.Appendf(nil, "filler/%05d", i), make([]byte, 100))
		}
	})
	if err := db.disk.base.Store().Flush(); err != nil {
		t.Fatal(err)
	}
	var (
		wg, started  sync.WaitGroup
		acknowledged atomic.Int64
	)
	ctx := t.Context()
	run := func(do func(i int) error) {
		started.Add(1)
		wg.Go(func() {
			for i := 0; ; i++ {
				err := do(i)
				if i == 3 || i < 3 && err != nil {
					started.Done()
				}
				if errors.Is(err, kv.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("in flight: %v", err)
					return
				}
			}
		})
	}
	run(func(i int) error {
		err := db.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set([]byte("last"), fmt.Append(nil, i))
			return nil
		})
		if err == nil {
			acknowledged.Store(int64(i))
		}
		return err
	})
	for range 2 {
		run(func(int) error {
			return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
				// A hundred batches: of all keys a slow machine reads for longer than a transaction may last, again and again.
				_, err := readPairs(tx, everything, kv.RangeOptions{Mode: kv.ModeSmall, Limit: 300})
				return err
			})
		})
	}
	run(func(i int) error {
		_, err := db.Backup(ctx, fmt.Sprint("backup", i))
		return err
	})
	run(func(i int) error {
		var watch kv.Future[struct{}]
		err := db.Transact(ctx, func(tx kv.Transaction) error {
			watch = tx.Watch([]byte("last"))
			return nil
		})
		if err == nil {
			_, err = watch.Get(ctx)
		}
		return err
	})
	started.Wait()
	var closers sync.WaitGroup
	for range 2 {
		closers.Go(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			again, err := Open("db", Options{FS: fs, noAbsorb: true})
			if locked := (*LockedError)(nil); err != nil && !errors.As(err, &locked) {
				t.Error(err)
			} else if err == nil {
				closeTest(t, again)
			}
		})
	}
	closers.Wait()
	wg.Wait()
	again := openAt(t, fs, "db")
	defer closeTest(t, again)
	if last, err := lastNumber(again); err != nil || int64(last) < acknowledged.Load() {
		t.Errorf("the last commit is %d, %v; %d was acknowledged", last, err, acknowledged.Load())
	}
}

// TestUseAfterClose uses everything of a closed database.
func TestUseAfterClose(t *testing.T) {
	for name, open := range map[string]func() (*Database, error){
		"in memory": func() (*Database, error) { return OpenMemory() },
		"on disk":   func() (*Database, error) { return Open("db", Options{FS: vfs.NewMem()}) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open()
			if err != nil {
				t.Fatal(err)
			}
			key, ctx := []byte("key"), t.Context()
			transact(t, db, func(tx kv.Transaction) { tx.Set(key, key) })
			tx, watching, writing := begin(t, db), begin(t, db), begin(t, db)
			watch := watching.Watch(key)
			writing.Set(key, nil)
			stamp := writing.GetVersionstamp()
			closeTest(t, db)

			_, getErr := tx.Get(key).Get(ctx)
			_, keyErr := tx.GetKey(kv.FirstGreaterThan(key)).Get(ctx)
			_, rangeErr := tx.GetRange(everything.Selectors(), kv.RangeOptions{}).Slice(ctx)
			_, beginErr := db.Begin()
			watchingErr := watching.Commit(ctx)
			_, watchErr := watch.Get(ctx)
			writingErr := writing.Commit(ctx)
			for what, err := range map[string]error{
				"Get": getErr, "GetKey": keyErr, "GetRange": rangeErr, "Begin": beginErr,
				"the commit of a watch": watchingErr, "a watch": watchErr, "Commit": writingErr,
				"Transact":     db.Transact(ctx, func(kv.Transaction) error { return nil }),
				"ReadTransact": db.ReadTransact(ctx, func(kv.ReadTransaction) error { return nil }),
			} {
				if !errors.Is(err, kv.ErrClosed) {
					t.Errorf("%s gets %v, want ErrClosed", what, err)
				}
			}
			if _, err := stamp.Get(ctx); err == nil {
				t.Error("a versionstamp is known although nothing was committed")
			}
			closeTest(t, db)
		})
	}
}

// TestLockedErrorNamesTheHolder opens folders that are open, that were, and that
// an unknown process holds.
func TestLockedErrorNamesTheHolder(t *testing.T) {
	dir := t.TempDir()
	began := time.Now().Add(-time.Second)
	db := openDir(t, dir)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	open := func() *LockedError {
		t.Helper()
		_, err := Open(dir)
		locked := (*LockedError)(nil)
		if !errors.As(err, &locked) {
			t.Fatalf("the folder is open, and opening it again gets %v", err)
		}
		return locked
	}
	locked := open()
	if locked.PID != os.Getpid() || locked.Host != host || locked.Since.Before(began) || locked.Since.After(time.Now()) {
		t.Errorf("the holder is %+v", locked)
	}
	for _, part := range []string{dir, "this process", "since", "close it"} {
		if !strings.Contains(locked.Error(), part) {
			t.Errorf("%q does not say %q", locked, part)
		}
	}
	holder := filepath.Join(dir, holderName)
	for _, text := range []string{"", "nonsense", "12\n"} {
		if err := os.WriteFile(holder, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if locked := open(); locked.PID != 0 || !strings.Contains(locked.Error(), "another process") {
			t.Errorf("with %q for a holder: %v", text, locked)
		}
	}
	closeTest(t, db)
	if _, err := os.Stat(holder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close the holder is still named: %v", err)
	}
	if err := os.WriteFile(holder, []byte("1 elsewhere 2020-01-01T00:00:00Z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	closeTest(t, openDir(t, dir)) // the file that a crash leaves does not stop an opening
}

// noLocksFS is a file system that fails to lock.
type noLocksFS struct {
	vfs.FS
	err error
}

func (f noLocksFS) Lock(string) (io.Closer, error) { return nil, f.err }

// TestLockErrors: a lock that cannot be taken because the system has none, or refuses it,
// does not say that the database is already open.
func TestLockErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		held bool
	}{
		{syscall.EAGAIN, true}, {syscall.ENOLCK, false}, {syscall.EACCES, false}, {syscall.EOPNOTSUPP, false}, {errors.New("anything else"), false},
	} {
		_, err := Open("db", Options{FS: noLocksFS{vfs.NewMem(), test.err}})
		if held := errors.As(err, new(*LockedError)); held != test.held || !errors.Is(err, test.err) {
			t.Errorf("with %v for the lock: %v; want a LockedError: %v", test.err, err, test.held)
		}
	}
}

// TestBackupEndsWithContext cancels a backup that is being copied.
func TestBackupEndsWithContext(t *testing.T) {
	db := openTest(t, Options{FS: vfs.NewMem()})
	defer closeTest(t, db)
	turn, end, err := db.disk.copies.begin(t.Context()) // another backup is under way
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := db.Backup(ctx, "backup"); !errors.Is(err, cause) {
		t.Errorf("a backup that waits for its turn ends with %v, want %v", err, cause)
	}
	end()
	if turn.Err() == nil {
		t.Error("the context of a backup that has ended goes on")
	}
}

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
			"ReadOnly": func() error { _, err := Open(path, Options{ReadOnly: true}); return err },
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
			first, err := Open(dir, Options{segmentSize: 1000, noAbsorb: true})
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
