// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// meter is the operating system's files. It counts the bytes that are read of them, for
// the progress of a verb that reads all of a database.
type meter struct {
	vfs.FS
	count *count
}

// count is how many bytes were read.
type count struct {
	mu   sync.Mutex
	read int64
	show func(read int64) // called by one goroutine at a time
}

func newMeter(show func(read int64)) meter { return meter{vfs.Default, &count{show: show}} }

// Open implements [vfs.FS].
func (m meter) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := m.FS.Open(name, o...)
	if err != nil {
		return nil, err
	}
	return meteredFile{f, m.count}, nil
}

// Unwrap implements [vfs.FS].
func (m meter) Unwrap() vfs.FS { return m.FS }

func (c *count) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read += int64(n)
	c.show(c.read)
}

// meteredFile is a file whose reads are counted.
type meteredFile struct {
	vfs.File
	count *count
}

// Read implements [vfs.File].
func (f meteredFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.count.add(n)
	return n, err
}

// ReadAt implements [vfs.File].
func (f meteredFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.count.add(n)
	return n, err
}

// folderSize returns the size of all files in a folder; 0 if it cannot be read, for the
// error of that comes from the verb itself.
func folderSize(folder string) (size int64) {
	err := filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return 0
	}
	return size
}
