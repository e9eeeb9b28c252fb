// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// TestFilesArePrivate: they hold the secrets of leases.
func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the modes of files are Unix's")
	}
	for _, test := range []struct{ before, want fs.FileMode }{
		{0, 0o600}, {0o644, 0o600}, {0o666, 0o660}, {0o664, 0o660}, {0o660, 0o660}, {0o640, 0o640}, {0o600, 0o600},
	} {
		path := filepath.Join(t.TempDir(), "leases.db")
		if test.before != 0 {
			use(t, path)() // which removes the files next to it
			if err := os.Chmod(path, test.before); err != nil {
				t.Fatal(err)
			}
		}
		end := use(t, path)
		for _, name := range []string{path, path + "-wal", path + "-shm"} {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != test.want {
				t.Errorf("%s, %v before: mode %v, want %v", filepath.Base(name), test.before, got, test.want)
			}
		}
		end()
	}
}

// TestFilesLeftBehindArePrivate has files of a process that was killed.
func TestFilesLeftBehindArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the modes of files are Unix's")
	}
	path := filepath.Join(t.TempDir(), "leases.db")
	use(t, path)
	names := []string{path, path + "-wal", path + "-shm"}
	for _, name := range names {
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	use(t, path)
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
}

// use opens the file and acquires a lease, so that there are all the files that
// SQLite makes, until end closes it.
func use(t *testing.T, path string) (end func()) {
	t.Helper()
	store, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	end = func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Acquire(t.Context(), idgen.AcquireRequest{}); err != nil {
		t.Fatal(err)
	}
	return end
}
