// SPDX-License-Identifier: Apache-2.0

package base

import (
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

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
