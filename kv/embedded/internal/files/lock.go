// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrMoved says that a path no longer leads to the folder that was locked there.
var ErrMoved = errors.New("the folder was renamed, removed or replaced while it was open, or its file LOCK was; " +
	"nothing is read or written there any more")

// OnSystem reports whether a file system is the operating system's, or wraps it and
// says so with Unwrap.
func OnSystem(fs vfs.FS) bool { return vfs.Root(fs) == vfs.Default }

// Private is the operating system's file system, or one that wraps it, where only the
// owner of a new file or folder may use it.
type Private struct{ vfs.FS }

// Unwrap implements [vfs.FS].
func (s Private) Unwrap() vfs.FS { return s.FS }

// MkdirAll implements [vfs.FS].
func (s Private) MkdirAll(dir string, _ os.FileMode) error { return s.FS.MkdirAll(dir, 0o700) }

// Create implements [vfs.FS]. Like that of [vfs.Default] it replaces a file that is
// there: what is linked to the old one stays as it is. A file system around the
// operating system's makes the file, too, and may refuse; as others could open that
// one, it is replaced while it is empty.
func (s Private) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if s.FS != vfs.Default {
		file, err := s.FS.Create(name, c)
		if err != nil {
			return nil, err
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	if err := makePrivate(name); err != nil {
		return nil, err
	}
	return s.FS.OpenReadWrite(name, c)
}

// makePrivate makes an empty file, in the place of one that is there.
func makePrivate(name string) error {
	for range lockAttempts {
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return file.Close()
		}
		if !errors.Is(err, iofs.ErrExist) {
			return err
		}
		if err := os.Remove(name); err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
	}
	return &iofs.PathError{Op: "create", Path: name, Err: errReplaced}
}

// Lock is the lock of a folder: that of a file in it. Of a file system of the
// operating system it belongs to the open file. So it does not matter by which path,
// or in which process, another owner tries to take it, and no other descriptor of the
// file releases it when it is closed.
type Lock struct {
	held io.Closer
	path string      // of the file, or of a folder that has none
	info os.FileInfo // of what path led to; nil: not on the operating system's file system

	remove func() error // the file, at the end; nil: it stays
}

// ErrHeld says that another owner holds a lock.
var ErrHeld = errors.New("another owner holds the lock")

// TakeLock takes the lock of a file, which it makes if there is none. Where another
// owner holds it, the error wraps ErrHeld.
func TakeLock(fs vfs.FS, path string) (*Lock, error) {
	if !OnSystem(fs) {
		held, err := fs.Lock(path)
		if err != nil {
			return nil, lockError(path, err)
		}
		return &Lock{held: held, path: path}, nil
	}
	return takeLock(path, lockFile)
}

// lockAttempts bounds how often another process can come in between where a file is made. A file
// system that gives a file another identity each time it is asked would come in between for ever.
const lockAttempts = 100

// takeLock is TakeLock with a function that opens and locks the file. An owner that is done may
// remove the file between the two: then the lock is taken of the next one.
func takeLock(path string, lockFile func(string) (io.Closer, os.FileInfo, error)) (*Lock, error) {
	for range lockAttempts {
		held, info, err := lockFile(path)
		if err != nil {
			return nil, lockError(path, err)
		}
		l := &Lock{held: held, path: path, info: info}
		switch err := l.Check(); {
		case err == nil:
			return l, nil
		case !errors.Is(err, ErrMoved):
			return nil, errors.Join(err, held.Close())
		}
		if err := held.Close(); err != nil {
			return nil, err
		}
	}
	return nil, &iofs.PathError{Op: "lock", Path: path, Err: errReplaced}
}

// lockError says why a lock could not be taken: another owner holds it, or the system
// lacks locks, memory or permission, about which no other process can do anything.
func lockError(path string, err error) error {
	if isHeld(err) || errors.Is(err, syscall.EAGAIN) { // [vfs.MemFS] has EAGAIN on every system
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	if errors.As(err, new(*iofs.PathError)) {
		return err
	}
	return &iofs.PathError{Op: "lock", Path: path, Err: err}
}

// errReplaced says that a file was never the one that had just been made.
var errReplaced = fmt.Errorf("it was another file each of %d times, so another process replaces it, or the file system "+
	"does not keep the identity of files: use a folder of a local file system", lockAttempts)

// WithoutLock stands for the lock of a folder that needs none. It keeps the folder open:
// otherwise the file system could give its number to another one.
func WithoutLock(fs vfs.FS, dir string) (*Lock, error) {
	if !OnSystem(fs) {
		return &Lock{held: noLock{}}, nil
	}
	opened, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &Lock{held: opened, path: dir, info: info}, nil
}

type noLock struct{}

func (noLock) Close() error { return nil }

// RemoveAtEnd has Close remove the file of the lock.
func (l *Lock) RemoveAtEnd(fs vfs.FS) { l.remove = func() error { return fs.Remove(l.path) } }

// Close implements [io.Closer].
func (l *Lock) Close() error {
	switch {
	case l.remove == nil:
		return l.held.Close()
	case runtime.GOOS == "windows": // which does not remove an open file
		err := l.held.Close()
		_ = l.remove() // the next owner may have it open by now
		return err
	}
	return errors.Join(l.remove(), l.held.Close())
}

// Check returns ErrMoved if the path leads to another file than the locked one, or to
// none.
func (l *Lock) Check() error {
	if l.info == nil {
		return nil
	}
	switch found, err := os.Stat(l.path); {
	case errors.Is(err, iofs.ErrNotExist), err == nil && !os.SameFile(found, l.info):
		return fmt.Errorf("%s: %w", l.path, ErrMoved)
	case err != nil:
		return err
	}
	return nil
}

// Guard returns the file system as the holder of the lock uses it: before each use of
// a name it checks the path. If the folder was renamed, the holder would otherwise
// write to, or read, what another process has begun at the path since.
func (l *Lock) Guard(fs vfs.FS) vfs.FS {
	if l.info == nil {
		return fs
	}
	return guard{fs, l}
}

// guard is the file system of a lock's holder.
type guard struct {
	vfs.FS
	lock *Lock
}

// Unwrap implements [vfs.FS].
func (g guard) Unwrap() vfs.FS { return g.FS }

// do calls a function if the folder is still the locked one.
func (g guard) do(f func() error) error {
	if err := g.lock.Check(); err != nil {
		return err
	}
	return f()
}

// open is do for a function that returns an open file.
func (g guard) open(f func() (vfs.File, error)) (file vfs.File, err error) {
	err = g.do(func() (err error) { file, err = f(); return err })
	if err != nil {
		return nil, err // [vfs.Default] returns a file that is none
	}
	return file, nil
}

// Create implements [vfs.FS].
func (g guard) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.Create(name, c) })
}

// Open implements [vfs.FS].
func (g guard) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.Open(name, o...) })
}

// OpenReadWrite implements [vfs.FS].
func (g guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenReadWrite(name, c, o...) })
}

// OpenDir implements [vfs.FS].
func (g guard) OpenDir(name string) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.OpenDir(name) })
}

// ReuseForWrite implements [vfs.FS].
func (g guard) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return g.open(func() (vfs.File, error) { return g.FS.ReuseForWrite(from, to, c) })
}

// Link implements [vfs.FS].
func (g guard) Link(from, to string) error {
	return g.do(func() error { return g.FS.Link(from, to) })
}

// Rename implements [vfs.FS].
func (g guard) Rename(from, to string) error {
	return g.do(func() error { return g.FS.Rename(from, to) })
}

// Remove implements [vfs.FS].
func (g guard) Remove(name string) error { return g.do(func() error { return g.FS.Remove(name) }) }

// RemoveAll implements [vfs.FS].
func (g guard) RemoveAll(name string) error {
	return g.do(func() error { return g.FS.RemoveAll(name) })
}

// MkdirAll implements [vfs.FS].
func (g guard) MkdirAll(name string, mode os.FileMode) error {
	return g.do(func() error { return g.FS.MkdirAll(name, mode) })
}

// List implements [vfs.FS].
func (g guard) List(name string) (names []string, err error) {
	err = g.do(func() (err error) { names, err = g.FS.List(name); return err })
	return names, err
}

// Stat implements [vfs.FS].
func (g guard) Stat(name string) (info vfs.FileInfo, err error) {
	err = g.do(func() (err error) { info, err = g.FS.Stat(name); return err })
	return info, err
}
