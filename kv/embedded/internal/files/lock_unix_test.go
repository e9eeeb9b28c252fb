// SPDX-License-Identifier: Apache-2.0

//go:build unix

package files

import (
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// interrupted is lockFile where something comes in between the lock and its check, so many times.
func interrupted(times int, comesBetween func(path string) error) func(string) (io.Closer, os.FileInfo, error) {
	return func(path string) (io.Closer, os.FileInfo, error) {
		held, info, err := lockFile(path)
		if times--; err == nil && times >= 0 {
			err = comesBetween(path)
		}
		return held, info, err
	}
}

// TestLockOfAnotherFile takes the lock of a file that is removed before the lock is checked: the
// lock is that of the file at the path, or the attempts end.
func TestLockOfAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	l, err := takeLock(path, interrupted(3, os.Remove))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Check(), l.Close()); err != nil {
		t.Error(err)
	}
	_, err = takeLock(path, interrupted(1<<20, os.Remove))
	var fault *iofs.PathError
	if !errors.As(err, &fault) || fault.Path != path {
		t.Errorf("a file that is removed each time: %v, want an error that names it", err)
	}
	l, err = TakeLock(vfs.Default, path)
	if err != nil {
		t.Fatalf("after the attempts have ended: %v; do they still hold a lock?", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestLockThatCannotBeChecked takes the lock of a file, then replaces its folder by another file.
func TestLockThatCannotBeChecked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	replace := func(path string) error {
		return errors.Join(os.Rename(dir, dir+" before"), os.WriteFile(dir, nil, 0o600))
	}
	if _, err := takeLock(filepath.Join(dir, "LOCK"), interrupted(1<<20, replace)); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("got %v, want why the file cannot be looked at", err)
	}
}
