// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqlite_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kazahana-db/kazahana/lease/sqlite"
)

// locksFile names the file of a process that looks for the locks of others.
const locksFile = "KAZAHANA_SQLITE_LOCKS"

func init() { programs[locksFile] = findLock }

// findLock returns an error if no other process has the lock by which SQLite tells that it has
// the file open: a shared one on bytes which are the same in each version.
func findLock(path string) error {
	const first, length = 1<<30 + 2, 510
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: first, Len: length}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_GETLK, &lock); err != nil {
		return err
	}
	if lock.Type == syscall.F_UNLCK {
		return errors.New("no other process has the file locked")
	}
	return nil
}

// TestOpenTwice: a second Store of the process, open or closed, leaves the locks of the first one
// alone. Without them another program takes itself for the last one when it closes the file, and
// deletes the log that the first Store goes on writing: two processes are then granted one machine.
func TestOpenTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	check := func(when string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), locksFile+"="+path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", when, err, out)
		}
	}
	acquire(t, open(t, path, sqlite.Options{}))
	check("one store")
	second, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check("two stores")
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	check("one of two stores is closed")
}
