// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// TestLockEnds checks that waiting for the lock of another process ends with the
// context and with the store.
func TestLockEnds(t *testing.T) {
	s, dir := start(t)
	other, err := system{}.Lock(t.Context(), filepath.Join(dir, "locks", "orders.lock"), false)
	check(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	done := make(chan error)
	reserve := func(ctx context.Context) {
		_, err := s.Reserve(ctx, "orders", up(1))
		done <- err
	}
	go reserve(ctx)
	go reserve(ctx)
	for s.queue.users("orders") < 2 {
		runtime.Gosched()
	}
	cancel(cause)
	for range 2 {
		if err := <-done; !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	}
	go reserve(t.Context())
	check(t, s.Close())
	if err := <-done; !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if n := len(s.queue.turns); n > 0 {
		t.Errorf("%d names are remembered that no call waits for", n)
	}
	check(t, other.Close())
	again, err := Open(dir, Options{})
	check(t, err)
	if got, err := again.Reserve(t.Context(), "orders", up(1)); err != nil || got.To != 1001 { // the waiters have left their locks
		t.Errorf("got %+v, %v", got, err)
	}
}

// migratingDisk is the system's disk on which a newer program migrates while a call waits for a
// lock.
type migratingDisk struct {
	system
	dir string
}

func (d migratingDisk) Lock(ctx context.Context, path string, shared bool) (io.Closer, error) {
	lock, err := d.system.Lock(ctx, path, shared)
	return lock, errors.Join(err, os.WriteFile(filepath.Join(d.dir, schemaName), []byte("2\n"), 0o600))
}

// TestMigrationBeforeTheLock: a call that gets its lock after a migration changes nothing.
func TestMigrationBeforeTheLock(t *testing.T) {
	s, dir := start(t)
	ctx := t.Context()
	_, err := s.Reserve(ctx, "orders", up(1))
	check(t, err)
	version, err := s.Put(ctx, store.Configs, store.Document{Key: "orders", Value: []byte(`{}`)})
	check(t, err)
	_, err = s.Put(ctx, store.Replies, store.Document{Key: "r", Value: []byte(`{}`), Expires: time.Now().Add(-time.Hour)})
	check(t, err)
	before := filesOf(t, dir)
	old := newStore(dir, migratingDisk{dir: dir}, Options{})
	for name, call := range map[string]func() error{
		"Reserve":        func() error { _, err := old.Reserve(ctx, "orders", up(1)); return err },
		"SetSequence":    func() error { return old.SetSequence(ctx, "orders", 9, 1) },
		"DeleteSequence": func() error { _, err := old.DeleteSequence(ctx, "orders"); return err },
		"Put": func() error {
			_, err := old.Put(ctx, store.Configs, store.Document{Key: "orders", Value: []byte(`{"a":1}`), Version: version})
			return err
		},
		"Delete":  func() error { return old.Delete(ctx, store.Configs, "orders", version) },
		"Advance": func() error { _, err := old.Advance(ctx); return err },
		"List":    func() error { _, err := old.List(ctx, store.Configs, store.ListOptions{}); return err },
		"Init":    func() error { return errors.Join(old.Init(ctx), old.checkSchema()) }, // it removes what has expired
	} {
		check(t, os.WriteFile(filepath.Join(dir, schemaName), []byte("1\n"), 0o600))
		if err := call(); !errors.Is(err, store.ErrNewer) {
			t.Errorf("%s: %v, want ErrNewer", name, err)
		}
	}
	check(t, os.WriteFile(filepath.Join(dir, schemaName), []byte("1\n"), 0o600))
	if diff := cmp.Diff(before, filesOf(t, dir)); diff != "" {
		t.Errorf("the folder has changed (-before +after):\n%s", diff)
	}
}

// TestMigrationDuringARead: what was read without a lock while a newer program migrated is not
// returned, nor called damaged.
func TestMigrationDuringARead(t *testing.T) {
	for _, found := range []error{nil, &store.CorruptError{Where: "a file"}} {
		s, dir := start(t)
		err := s.read(t.Context(), func() error {
			return errors.Join(os.WriteFile(filepath.Join(dir, schemaName), []byte("2\n"), 0o600), found)
		})
		if !errors.Is(err, store.ErrNewer) || errors.As(err, new(*store.CorruptError)) {
			t.Errorf("after the error %v: %v, want ErrNewer alone", found, err)
		}
		check(t, os.WriteFile(filepath.Join(dir, schemaName), []byte("1\n"), 0o600))
	}
}

// filesOf returns the contents of the files with data in a folder.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".lock" {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

// users returns how many calls have a name or wait for it.
func (q *queue) users(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t := q.turns[name]; t != nil {
		return t.users
	}
	return 0
}

// observedContext is a context that reports calls of Done.
type observedContext struct {
	context.Context
	asked chan bool
}

func (c observedContext) Done() <-chan struct{} {
	select {
	case c.asked <- true:
	default:
	}
	return c.Context.Done()
}

// TestRemovedLock checks that two callers never have a lock at once, even if its file was
// removed and made again.
func TestRemovedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	first, err := system{}.Lock(t.Context(), path, false)
	check(t, err)
	waiting, ctx := make(chan io.Closer), observedContext{t.Context(), make(chan bool, 1)}
	go func() {
		second, err := system{}.Lock(ctx, path, false)
		if err != nil {
			t.Error(err)
		}
		waiting <- second
	}()
	<-ctx.asked // it has opened the file, and waits
	check(t, os.Remove(path))
	check(t, first.Close())
	second := <-waiting
	third, err := os.OpenFile(path, os.O_RDWR, 0)
	check(t, err)
	if err := tryLock(third, false); err == nil {
		t.Error("two have the lock")
	}
	check(t, errors.Join(second.Close(), third.Close()))
}

// TestEndedWaitsKeepNothing: a wait for a lock that its context has ended leaves nothing behind,
// although another one has the lock still.
func TestEndedWaitsKeepNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	other, err := system{}.Lock(t.Context(), path, false)
	check(t, err)
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := (system{}).Lock(ctx, path, false); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
	stacks := make([]byte, 1<<20)
	if n := bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("store/file.lockOnce")); n > 0 {
		t.Errorf("%d goroutines wait for a lock that no call wants", n)
	}
	check(t, other.Close())
}
