// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// baseFS is the file system as the base sees it. Locking does nothing there:
// the database's own lock covers the folder. After the base has failed the file
// system is sealed: what the failed base still tries to write in the background
// must not meet the files of the next opening.
//
// What the base writes elsewhere is a checkpoint. Its failure is no failure of
// the base, and who asks for it syncs its folders.
type baseFS struct {
	vfs.FS
	sealed  *atomic.Bool
	fail    func(error) // called with an error that the base would panic of
	copying *atomic.Pointer[copying]
}

// copying is a checkpoint that is being written.
type copying struct {
	ctx context.Context
	dir string // where
}

// checkpoint returns the one that a file or folder belongs to, or nil.
func (fs baseFS) checkpoint(name string) *copying {
	if c := fs.copying.Load(); c != nil && strings.HasPrefix(name, c.dir) {
		return c
	}
	return nil
}

// abandoned returns why the checkpoint that a file belongs to need not be
// written any more.
func (fs baseFS) abandoned(name string) error {
	if c := fs.checkpoint(name); c != nil {
		return context.Cause(c.ctx)
	}
	return nil
}

var errSealed = errors.New("the database failed before")

type noLock struct{}

func (noLock) Close() error { return nil }

func (fs baseFS) Lock(string) (io.Closer, error) { return noLock{}, nil }

// Unwrap implements [vfs.FS].
func (fs baseFS) Unwrap() vfs.FS { return fs.FS }

func (fs baseFS) check() error {
	if fs.sealed.Load() {
		return errSealed
	}
	return nil
}

func (fs baseFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if err := errors.Join(fs.check(), fs.abandoned(name)); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return baseFile{f, fs, name}, nil
}

// Create implements [vfs.FS].
func (fs baseFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.beforeMarker(name); err != nil {
		return nil, err
	}
	return fs.file(name, func() (vfs.File, error) { return fs.FS.Create(name, c) })
}

// beforeMarker syncs the folder of a marker that is to appear or to go. A marker
// is a file whose name says which other file counts; the base syncs the folder
// only after it has made the new marker and removed the old one, so that a crash
// could leave the new one without the file that it names, or neither.
func (fs baseFS) beforeMarker(name string) error {
	if !strings.HasPrefix(fs.PathBase(name), "marker.") || fs.checkpoint(name) != nil {
		return nil
	}
	return syncDir(fs.FS, fs.PathDir(name))
}

// OpenReadWrite implements [vfs.FS].
func (fs baseFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return fs.file(name, func() (vfs.File, error) { return fs.FS.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite implements [vfs.FS].
func (fs baseFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.file(to, func() (vfs.File, error) { return fs.FS.ReuseForWrite(from, to, c) })
}

// Link implements [vfs.FS].
func (fs baseFS) Link(from, to string) error {
	if err := fs.abandoned(to); err != nil {
		return err
	}
	return fs.unlessSealed(func() error { return fs.FS.Link(from, to) })
}

// Remove implements [vfs.FS].
func (fs baseFS) Remove(name string) error {
	return fs.unlessSealed(func() error {
		if err := fs.beforeMarker(name); err != nil {
			return err
		}
		return fs.FS.Remove(name)
	})
}

// RemoveAll implements [vfs.FS].
func (fs baseFS) RemoveAll(name string) error {
	return fs.unlessSealed(func() error { return fs.FS.RemoveAll(name) })
}

// Rename implements [vfs.FS].
func (fs baseFS) Rename(from, to string) error {
	return fs.unlessSealed(func() error { return fs.FS.Rename(from, to) })
}

// unlessSealed does what do does.
func (fs baseFS) unlessSealed(do func() error) error {
	if err := fs.check(); err != nil {
		return err
	}
	return do()
}

// OpenDir implements [vfs.FS].
func (fs baseFS) OpenDir(name string) (vfs.File, error) {
	dir, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return baseFolder{dir, fs, fs.checkpoint(name) != nil}, nil
}

// baseFolder is a folder that is open for syncing.
type baseFolder struct {
	vfs.File
	fs      baseFS
	foreign bool // it belongs to a checkpoint
}

// Sync implements [vfs.File]. It does not return from an error, of which the
// base would panic.
func (f baseFolder) Sync() error {
	if f.foreign {
		return nil
	}
	err := f.File.Sync()
	if err != nil {
		f.fs.fail(err)
	}
	return err
}

// baseFile is a file that is open for writing in a baseFS.
type baseFile struct {
	vfs.File
	fs   baseFS
	name string
}

// Write implements [io.Writer].
func (f baseFile) Write(p []byte) (int, error) {
	if err := errors.Join(f.fs.check(), f.fs.abandoned(f.name)); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

// WriteAt implements [io.WriterAt].
func (f baseFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fs.check(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, at)
}
