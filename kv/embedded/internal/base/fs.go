// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// baseFS is the file system as the base sees it. Locking does nothing there:
// the database's own lock covers the folder.
//
// After the base has failed the file system is sealed, for good: nothing that
// the base still writes reaches the disk, where it could meet the files of the
// next opening. The base does not stand errors when it writes its table of
// contents: it would end the process, or hang. So a write of that kind fails the
// base and succeeds. From then on new files are in memory and writes to the table
// of contents on the disk are dropped. What the base had in memory stays there,
// reads go on, and the base can be closed like any other.
//
// What the base writes elsewhere is a checkpoint. Its failure is not a failure of
// the base, and the caller syncs the folders.
type baseFS struct {
	vfs.FS
	memory      *atomic.Pointer[vfs.MemFS] // has the new files once sealed; nil: not sealed
	base        *Base                      // fails, and says when to wait
	checkpoints *atomic.Pointer[checkpointWrite]
	writing     *openFiles
}

func newBaseFS(fs vfs.FS, b *Base) baseFS {
	return baseFS{FS: fs, memory: new(atomic.Pointer[vfs.MemFS]), base: b, checkpoints: new(atomic.Pointer[checkpointWrite]), writing: new(openFiles)}
}

// seal keeps everything that is written from now on from the disk. It reports
// whether the file system was not sealed yet.
func (fs baseFS) seal() bool { return fs.memory.CompareAndSwap(nil, vfs.NewMem()) }

func (fs baseFS) fail(err error) { fs.base.fail(err) }

func (fs baseFS) sealed() bool { return fs.memory.Load() != nil }

// checkpointWrite is a checkpoint that is being written.
type checkpointWrite struct {
	ctx context.Context
	dir string // where
}

// checkpoint returns the one that a file or folder belongs to, or nil.
func (fs baseFS) checkpoint(name string) *checkpointWrite {
	if c := fs.checkpoints.Load(); c != nil && strings.HasPrefix(name, c.dir) {
		return c
	}
	return nil
}

// abandoned returns why the checkpoint that a file belongs to need not be
// written any more.
func (fs baseFS) abandoned(name string) error {
	c := fs.checkpoint(name)
	switch {
	case c == nil:
		return nil
	case fs.sealed():
		return errSealed
	}
	return context.Cause(c.ctx)
}

var errSealed = errors.New("the database failed before")

type noLock struct{}

func (noLock) Close() error { return nil }

// Lock implements [vfs.FS].
func (fs baseFS) Lock(string) (io.Closer, error) { return noLock{}, nil }

// Unwrap implements [vfs.FS].
func (fs baseFS) Unwrap() vfs.FS { return fs.FS }

// isContents reports whether a file belongs to the base's table of contents, or
// is the log that the base begins and never uses: it stands no error there.
func (fs baseFS) isContents(name string) bool {
	base := fs.PathBase(name)
	contents := strings.HasPrefix(base, "MANIFEST-") || strings.HasPrefix(base, "marker.") || strings.HasSuffix(base, ".log")
	return contents && fs.checkpoint(name) == nil
}

// Create implements [vfs.FS].
func (fs baseFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.abandoned(name); err != nil {
		return nil, err
	}
	if !fs.sealed() {
		file, err := fs.createOnDisk(name, c)
		if err == nil || !fs.isContents(name) {
			return file, err
		}
		fs.fail(err)
	}
	memory := fs.memory.Load()
	if err := memory.MkdirAll(fs.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return memory.Create(name, c)
}

func (fs baseFS) createOnDisk(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.beforeMarker(name); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".sst") && fs.checkpoint(name) == nil {
		fs.base.awaitRepeat()
	}
	file, err := fs.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	f := &baseFile{file, fs, name}
	fs.writing.add(f)
	return f, nil
}

// beforeMarker syncs the folder of a marker that is to appear or to go. A marker
// is a file with a name that says which other file counts; the base syncs the folder
// only after it has made the new marker and removed the old one, so that a crash
// could leave the new one without the file that it names, or neither.
func (fs baseFS) beforeMarker(name string) error {
	if !strings.HasPrefix(fs.PathBase(name), "marker.") || fs.checkpoint(name) != nil {
		return nil
	}
	return files.SyncDir(fs.FS, fs.PathDir(name))
}

// Open implements [vfs.FS].
func (fs baseFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if memory := fs.memory.Load(); memory != nil {
		if file, err := memory.Open(name, o...); err == nil {
			return file, nil
		}
	}
	return fs.FS.Open(name, o...)
}

// Stat implements [vfs.FS].
func (fs baseFS) Stat(name string) (vfs.FileInfo, error) {
	if memory := fs.memory.Load(); memory != nil {
		if info, err := memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return fs.FS.Stat(name)
}

// OpenReadWrite implements [vfs.FS]. The base never uses it.
func (fs baseFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errors.ErrUnsupported
}

// ReuseForWrite implements [vfs.FS]. The base never uses it: it has no log.
func (fs baseFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errors.ErrUnsupported
}

// Link implements [vfs.FS].
func (fs baseFS) Link(from, to string) error {
	if err := fs.abandoned(to); err != nil {
		return err
	}
	if fs.sealed() {
		return errSealed
	}
	return fs.FS.Link(from, to)
}

// Remove implements [vfs.FS].
func (fs baseFS) Remove(name string) error {
	if memory := fs.memory.Load(); memory != nil {
		if err := memory.Remove(name); err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := fs.beforeMarker(name); err != nil {
		return err
	}
	return fs.FS.Remove(name)
}

// RemoveAll implements [vfs.FS].
func (fs baseFS) RemoveAll(name string) error {
	if memory := fs.memory.Load(); memory != nil {
		return memory.RemoveAll(name)
	}
	return fs.FS.RemoveAll(name)
}

// Rename implements [vfs.FS].
func (fs baseFS) Rename(from, to string) error {
	if memory := fs.memory.Load(); memory != nil {
		if err := memory.Rename(from, to); err != nil && !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
		return nil // a file on the disk keeps its name
	}
	return fs.FS.Rename(from, to)
}

// OpenDir implements [vfs.FS].
func (fs baseFS) OpenDir(name string) (vfs.File, error) {
	dir, err := fs.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return baseFolder{dir, fs, fs.checkpoint(name) != nil}, nil
}

// baseFolder is a folder of a baseFS that is open for syncing.
type baseFolder struct {
	vfs.File
	fs      baseFS
	foreign bool // it belongs to a checkpoint
}

// Sync implements [vfs.File]. An error fails the base, which would panic if it
// was told.
func (f baseFolder) Sync() error {
	if f.foreign || f.fs.sealed() {
		return nil
	}
	if err := f.File.Sync(); err != nil {
		f.fs.fail(err)
	}
	return nil
}

// baseFile is a file of a baseFS, on the disk, that is open for writing.
type baseFile struct {
	vfs.File
	fs   baseFS
	name string
}

// contain does what do does with the file, unless the file system is sealed, and
// decides what the base gets to know of an error.
func (f *baseFile) contain(do func() error) error {
	contents := f.fs.isContents(f.name)
	if f.fs.sealed() && contents {
		return nil
	}
	if f.fs.sealed() {
		return errSealed
	}
	err := do()
	if err != nil && contents {
		f.fs.fail(err)
		return nil
	}
	return err
}

// Write implements [io.Writer].
func (f *baseFile) Write(p []byte) (n int, err error) {
	if err := f.fs.abandoned(f.name); err != nil {
		return 0, err
	}
	err = f.contain(func() (err error) { n, err = f.File.Write(p); return err })
	if err == nil {
		n = len(p)
	}
	return n, err
}

// WriteAt implements [io.WriterAt].
func (f *baseFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.contain(func() (err error) { n, err = f.File.WriteAt(p, at); return err })
	if err == nil {
		n = len(p)
	}
	return n, err
}

// Sync implements [vfs.File].
func (f *baseFile) Sync() error { return f.contain(f.File.Sync) }

// SyncData implements [vfs.File].
func (f *baseFile) SyncData() error { return f.contain(f.File.SyncData) }

// SyncTo implements [vfs.File].
func (f *baseFile) SyncTo(length int64) (full bool, err error) {
	err = f.contain(func() (err error) { full, err = f.File.SyncTo(length); return err })
	return full, err
}

// Close implements [vfs.File].
func (f *baseFile) Close() error {
	f.fs.writing.remove(f)
	err := f.File.Close()
	if err != nil && f.fs.isContents(f.name) {
		f.fs.fail(err)
		return nil
	}
	return err
}

// openFiles are the files that are open for writing. Pebble does not close the table that
// a compaction was writing when the disk failed, nor the manifest of an opening that
// failed.
type openFiles struct {
	mu    sync.Mutex
	files map[*baseFile]struct{}
}

func (o *openFiles) add(f *baseFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.files == nil {
		o.files = map[*baseFile]struct{}{}
	}
	o.files[f] = struct{}{}
}

func (o *openFiles) remove(f *baseFile) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.files, f)
}

// close closes the files that are left. Nothing uses them any more.
func (o *openFiles) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for f := range o.files {
		_ = f.File.Close() // what was written is of no use
	}
	o.files = nil
}
