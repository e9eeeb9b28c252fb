// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

// workFolder names the folder of a process that the suite starts.
const workFolder = "KAZAHANA_FILE_WORK"

func TestMain(m *testing.M) {
	if dir := os.Getenv(workFolder); dir != "" {
		s, err := Open(dir, Options{})
		if err == nil {
			err = storetest.Work(context.Background(), s, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// switched is the system's disk, but cannot be written while it is switched so.
type switched struct {
	system
	readOnly *atomic.Bool
}

func (d switched) refuse() error {
	if d.readOnly.Load() {
		return &os.PathError{Op: "write", Path: "…", Err: syscall.EROFS}
	}
	return nil
}

func (d switched) Create(path string) (writer, error) {
	if err := d.refuse(); err != nil {
		return nil, err
	}
	return d.system.Create(path)
}

func (d switched) Remove(path string) error {
	return errors.Join(d.refuse(), d.system.Remove(path))
}

func (d switched) Lock(ctx context.Context, path string, shared bool) (io.Closer, error) {
	if err := d.refuse(); err != nil && !shared {
		return nil, err
	}
	return d.system.Lock(ctx, path, shared)
}

func TestStore(t *testing.T) {
	root := t.TempDir()
	var readOnly atomic.Bool
	storetest.Run(t, storetest.Suite{
		Open: func(t *testing.T, name string) store.Store {
			s := newStore(filepath.Join(root, name, "data"), switched{readOnly: &readOnly}, Options{})
			t.Cleanup(func() { check(t, s.Close()) })
			return s
		},
		Process: func(t *testing.T, name string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), workFolder+"="+filepath.Join(root, name, "data"))
			return cmd
		},
		SetSchema: func(t *testing.T, name string, version int) {
			check(t, os.WriteFile(filepath.Join(root, name, "data", "schema_version"), fmt.Append(nil, version), 0o600))
		},
		SetReadOnly: func(*testing.T, string) func() {
			readOnly.Store(true)
			return func() { readOnly.Store(false) }
		},
	})
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lazy is the system's disk without waiting for it: what tests of names and
// contents need.
type lazy struct{ system }

func (lazy) SyncDir(string) error { return nil }

func (d lazy) Create(path string) (writer, error) {
	w, err := d.system.Create(path)
	return lazyFile{w}, err
}

type lazyFile struct{ writer }

func (lazyFile) Sync() error { return nil }

// start returns an initialised store in a new folder.
func start(t *testing.T) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	s := newStore(dir, lazy{}, Options{Now: func() time.Time { return time.Date(2026, 11, 22, 10, 0, 0, 5000, time.UTC) }})
	check(t, s.Init(t.Context()))
	t.Cleanup(func() { check(t, s.Close()) })
	return s, dir
}

func up(count int64) store.Reservation {
	return store.Reservation{Start: 1000, Step: 1, Count: count, Bound: 1 << 62}
}

// TestFiles checks names and contents as they are specified.
func TestFiles(t *testing.T) {
	s, dir := start(t)
	for range 2 {
		_, err := s.Reserve(t.Context(), "orders", up(10))
		check(t, err)
	}
	_, err := s.Put(t.Context(), store.Configs, store.Document{Key: "Orders/2", Type: "increment", Value: []byte(`{"base": 1000, "delta": 1}`)})
	check(t, err)
	_, err = s.Put(t.Context(), store.Tokens, store.Document{Key: "orders", Value: []byte(`{"text":"<&>"}`), Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)})
	check(t, err)
	_, err = s.Advance(t.Context())
	check(t, err)
	want := map[string]string{
		"sequences/orders.json":       `{"current":1020,"version":2,"updated_at":"2026-11-22T10:00:00.000005Z"}`,
		"configs/%4Frders%2F2.json":   `{"key":"Orders/2","id_type":"increment","version":1,"created_at":"2026-11-22T10:00:00.000005Z","updated_at":"2026-11-22T10:00:00.000005Z","config":{"base":1000,"delta":1}}`,
		"documents/token/orders.json": `{"key":"orders","version":1,"created_at":"2026-11-22T10:00:00.000005Z","updated_at":"2026-11-22T10:00:00.000005Z","expires_at":"2027-01-01T00:00:00Z","config":{"text":"<&>"}}`,
		"schema_version":              "1",
		"revision":                    "1",
		"locks/orders.lock":           "",
		"locks/%kind-config.lock":     "",
		"locks/%kind-token.lock":      "",
		"locks/%revision.lock":        "",
		"locks/%schema.lock":          "",
	}
	got := map[string]string{}
	check(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		got[filepath.ToSlash(name)] = strings.TrimSuffix(string(text), "\n")
		return err
	}))
	if !maps.Equal(got, want) {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			t.Logf("%s: %s", name, got[name])
		}
		t.Errorf("got %d files, want %d, or other contents", len(got), len(want))
	}
}

// TestFileName checks that names of files are safe, and tell their keys.
func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "a.b-c_9": "a.b-c_9", "..": "%2E.", "A": "%41", "a/b": "a%2Fb", "é": "%C3%A9", "%41": "%2541", "orders#2": "orders%232",
		strings.Repeat("A", 67): "%%" + "64f8a0a4ab9c7bb9dcb6b5e3d5f3c0a6",
	} {
		got := FileName(name)
		if isHashed(want) {
			if len(got) != 66 || !isHashed(got) {
				t.Errorf("%q: %q", name, got)
			}
			continue
		}
		if back, ok := NameOf(got); got != want || !ok || back != name {
			t.Errorf("%q: got %q and back %q, want %q", name, got, back, want)
		}
	}
	for _, alien := range []string{"", "A", "%2f", "%", "%4", "%ZZ", "%61", ".a", "a b", "%kind-a", "orders.json~"} {
		if name, ok := NameOf(alien); ok {
			t.Errorf("%q is taken for the file of %q", alien, name)
		}
	}
}

// TestDamage checks that each file that is not as it was written is named by an
// error, by every call that reads it, and that nothing is written over it.
func TestDamage(t *testing.T) {
	long := strings.Repeat("É", 60)
	damages := map[string][]string{
		"sequences/orders.json": {
			"", "\n", "{", "null", "[]", "{}", `{"current":5}`, `{"version":5}`, `{"current":"5","version":1}`, `{"current":1.5,"version":1}`,
			`{"current":99999999999999999999,"version":1}`, `{"current":5,"version":-1}`, `{"current":5,"version":1}{`, "\x00\x00\x00\x00", `{"current":1010,"version":1,"upd`, `{"key":"x","current":5,"version":1}`,
		},
		"configs/orders.json": {
			"", "null", `{"key":"orders","version":0,"config":{}}`, `{"key":"other","version":1,"config":{}}`, `{"key":"orders","version":1}`,
			`{"key":"orders","version":1,"config":[]}`, `{"key":"orders","version":1,"config":{}`, "\x00\x00",
		},
		"configs/" + FileName(long) + ".json": {"", `{"key":"other","version":1,"config":{}}`, `{"version":1,"config":{}}`},
		"schema_version":                      {"", "one", "-1", "0", "1 2", "\x00"},
		"revision":                            {"", "x", "0"},
		"versions/config":                     {"", "x"},
	}
	for name, contents := range damages {
		for _, content := range contents {
			t.Run(name+" "+content, func(t *testing.T) {
				s, dir := start(t)
				fill(t, s, long)
				path := filepath.Join(dir, name)
				check(t, os.WriteFile(path, []byte(content), 0o600))
				corrupt, calls := 0, callAll(t, s, long)
				for call, err := range calls {
					var damage *store.CorruptError
					if !errors.As(err, &damage) {
						continue
					}
					corrupt++
					if damage.Where != path || strings.Contains(damage.Reason, "delete") || strings.Contains(damage.Reason, "remove") {
						t.Errorf("%s: %v", call, err)
					}
				}
				if least := 2; corrupt < least && name != "versions/config" || corrupt < 1 {
					t.Errorf("%d calls report it: %v", corrupt, calls)
				}
				if after, err := os.ReadFile(path); err != nil || string(after) != content {
					t.Errorf("the file was changed to %q, %v", after, err)
				}
			})
		}
	}
}

func fill(t *testing.T, s *Store, long string) {
	t.Helper()
	_, err := s.Reserve(t.Context(), "orders", up(10))
	check(t, err)
	for _, key := range []string{"orders", long, "gone"} {
		_, err = s.Put(t.Context(), store.Configs, store.Document{Key: key, Value: []byte(`{}`)})
		check(t, err)
	}
	check(t, s.Delete(t.Context(), store.Configs, "gone", 1))
	_, err = s.Advance(t.Context())
	check(t, err)
}

func callAll(t *testing.T, s *Store, long string) map[string]error {
	t.Helper()
	errs := map[string]error{"set": s.SetSequence(t.Context(), "orders", 1, 1)}
	_, errs["reserve"] = s.Reserve(t.Context(), "orders", up(1))
	_, errs["sequence"] = s.Sequence(t.Context(), "orders")
	for _, key := range []string{"orders", long, "new"} {
		_, errs["get "+key] = s.Get(t.Context(), store.Configs, key)
		_, errs["put "+key] = s.Put(t.Context(), store.Configs, store.Document{Key: key, Value: []byte(`{}`)})
		errs["delete "+key] = s.Delete(t.Context(), store.Configs, key, 1)
	}
	_, errs["list"] = s.List(t.Context(), store.Configs, store.ListOptions{})
	_, errs["revision"] = s.Revision(t.Context())
	_, errs["advance"] = s.Advance(t.Context())
	return errs
}

// TestLostSchema checks that data without a version of the schema is not taken
// for a new store.
func TestLostSchema(t *testing.T) {
	s, dir := start(t)
	_, err := s.Reserve(t.Context(), "orders", up(10))
	check(t, err)
	check(t, os.Remove(filepath.Join(dir, "schema_version")))
	if _, err := s.Reserve(t.Context(), "orders", up(1)); !errors.Is(err, store.ErrNoSchema) {
		t.Errorf("reserve: %v", err)
	}
	var damage *store.CorruptError
	if err := s.Init(t.Context()); !errors.As(err, &damage) || damage.Where != filepath.Join(dir, "schema_version") {
		t.Errorf("init: %v", err)
	}
	check(t, os.RemoveAll(dir))
	if _, err := s.Reserve(t.Context(), "orders", up(1)); !errors.Is(err, store.ErrNoSchema) {
		t.Errorf("reserve in a folder that was removed: %v", err)
	}
}

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
	if got, err := again.Reserve(t.Context(), "orders", up(1)); err != nil || got.To != 1001 { // the locks of those who waited are free
		t.Errorf("got %+v, %v", got, err)
	}
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

// noticing is a context that tells when it is asked for its end.
type noticing struct {
	context.Context
	asked chan bool
}

func (c noticing) Done() <-chan struct{} {
	c.asked <- true
	return c.Context.Done()
}

// TestRemovedLock checks that a lock whose file was removed and made again is not
// had by two.
func TestRemovedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	first, err := system{}.Lock(t.Context(), path, false)
	check(t, err)
	waiting, ctx := make(chan io.Closer), noticing{t.Context(), make(chan bool, 9)}
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

// TestSweep checks that expired documents are removed, by the process that
// stored them and by the next.
func TestSweep(t *testing.T) {
	now := time.Now()
	dir := t.TempDir()
	s, err := Open(dir, Options{Now: func() time.Time { return now }})
	check(t, err)
	check(t, s.Init(t.Context()))
	left := func() int {
		names, err := os.ReadDir(filepath.Join(dir, "documents", "reply"))
		check(t, err)
		return len(names)
	}
	for i := range 40 {
		_, err := s.Put(t.Context(), store.Replies, store.Document{Key: fmt.Sprint(i), Value: []byte(`{}`), Expires: now.Add(time.Second)})
		check(t, err)
		now = now.Add(4 * time.Second)
	}
	if n := left(); n > 16+61/4+1 {
		t.Errorf("%d documents are left", n)
	}
	_, err = s.Put(t.Context(), store.Replies, store.Document{Key: "stays", Value: []byte(`{}`), Expires: now.Add(time.Hour)})
	check(t, err)
	now = now.Add(2 * time.Minute)
	again, err := Open(dir, Options{Now: func() time.Time { return now }})
	check(t, err)
	check(t, again.Init(t.Context()))
	if n := left(); n != 1 {
		t.Errorf("%d documents are left, want 1", n)
	}
}
