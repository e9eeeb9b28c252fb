// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// TestDamage checks that every call that reads a damaged file names it in the error, and
// that no call overwrites it.
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

// unread is a disk that cannot read its files.
type unread struct {
	lazy
	err error
}

func (d unread) ReadFile(path string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: path, Err: d.err}
}

// TestUnread checks that a file counts as damaged only if it is not what the store made of it: when
// the process has too many open files, for example, it says nothing about the data.
func TestUnread(t *testing.T) {
	_, dir := start(t)
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.EACCES, syscall.EISDIR} {
		s := newStore(dir, unread{err: err}, Options{})
		_, got := s.Revision(t.Context())
		var damage *store.CorruptError
		if isDamage := err == syscall.EACCES || err == syscall.EISDIR; !errors.Is(got, err) || errors.As(got, &damage) != isDamage {
			t.Errorf("%v: %v", err, got)
		}
		check(t, s.Close())
	}
}
