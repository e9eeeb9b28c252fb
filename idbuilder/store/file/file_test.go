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
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
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

// switchedDisk is the system's disk; a test can make it read-only.
type switchedDisk struct {
	system
	readOnly *atomic.Bool
}

func (d switchedDisk) refuse() error {
	if d.readOnly.Load() {
		return &os.PathError{Op: "write", Path: "…", Err: syscall.EROFS}
	}
	return nil
}

func (d switchedDisk) Create(path string) (writer, error) {
	if err := d.refuse(); err != nil {
		return nil, err
	}
	return d.system.Create(path)
}

func (d switchedDisk) Remove(path string) error {
	return errors.Join(d.refuse(), d.system.Remove(path))
}

func (d switchedDisk) Lock(ctx context.Context, path string, shared bool) (io.Closer, error) {
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
			s := newStore(filepath.Join(root, name, "data"), switchedDisk{readOnly: &readOnly}, Options{})
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

// lazy is the system's disk without syncs, for tests of names and contents.
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
	storeState(t, s)
	_, err := s.Reserve(t.Context(), "removed", up(10))
	check(t, err)
	_, err = s.DeleteSequence(t.Context(), "removed")
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
	got := contentsOf(t, dir)
	if !maps.Equal(got, want) {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			t.Logf("%s: %s", name, got[name])
		}
		t.Errorf("got %d files, want %d, or other contents", len(got), len(want))
	}
}

// storeState stores a sequence and documents.
func storeState(t *testing.T, s *Store) {
	t.Helper()
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
}

// contentsOf returns the contents of the files of a folder.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
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
	return got
}

// TestFormats reads folders that earlier versions wrote, and writes them.
func TestFormats(t *testing.T) {
	formats.Check(t, formats.Format{
		Name: "idbuilder/files",
		Write: func(t *testing.T) (example string) {
			s, dir := start(t)
			storeState(t, s)
			version, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "gone", Value: []byte(`{}`)})
			check(t, err)
			check(t, s.Delete(t.Context(), store.Tokens, "gone", version))
			files := contentsOf(t, dir)
			for _, name := range slices.Sorted(maps.Keys(files)) {
				example += name + " = " + files[name] + "\n"
			}
			return example
		},
		Read: readExample,
	})
}

func readExample(t *testing.T, example string) {
	dir := t.TempDir()
	for line := range strings.Lines(example) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, []byte(text), 0o600))
	}
	at := time.Date(2026, 11, 22, 10, 0, 0, 5000, time.UTC)
	s := newStore(dir, lazy{}, Options{Now: func() time.Time { return at }})
	check(t, s.Init(t.Context()))
	defer func() { check(t, s.Close()) }()
	if q, err := s.Sequence(t.Context(), "orders"); err != nil || q != (store.Sequence{Value: 1020, Version: 2}) {
		t.Errorf("the sequence is %+v, %v", q, err)
	}
	d, err := s.Get(t.Context(), store.Configs, "Orders/2")
	if err != nil || d.Type != "increment" || string(d.Value) != `{"base":1000,"delta":1}` || d.Version != 1 || !d.Created.Equal(at) {
		t.Errorf("the configuration is %+v, %v", d, err)
	}
	if d, err = s.Get(t.Context(), store.Tokens, "orders"); err != nil || string(d.Value) != `{"text":"<&>"}` || !d.Expires.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the token is %+v, %v", d, err)
	}
	if n, err := s.Revision(t.Context()); err != nil || n != 1 {
		t.Errorf("the revision is %d, %v", n, err)
	}
	if version, err := s.Put(t.Context(), store.Tokens, store.Document{Key: "again", Value: []byte(`{}`)}); err != nil || version != 2 {
		t.Errorf("a new token has the version %d, want one after that of the deleted token: %v", version, err)
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
