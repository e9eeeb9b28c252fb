// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// readSegments reads a log of segments 7, 8 and so on with these contents.
func readSegments(t *testing.T, contents ...[]byte) (*Log, error) {
	t.Helper()
	fs := vfs.NewMem()
	for i, content := range contents {
		// With the race detector Pebble changes what it has written.
		if err := files.WriteSynced(fs, segmentName(uint64(7+i)), bytes.Clone(content)); err != nil {
			t.Fatal(err)
		}
	}
	return Read(Options{FS: fs}, Replay{Apply: func(int64, mutation.Mutation) {}})
}

// TestNewerFormat reads segments with headers of another format: that of a newer
// version is not damage, and damage is not a newer format.
func TestNewerFormat(t *testing.T) {
	for _, h := range testHeaders() {
		whole := h.append(nil)
		for version := range 256 {
			b := bytes.Clone(whole)
			b[7] = byte(version)
			if _, err := readSegments(t, b); errors.As(err, new(*fault.FormatError)) {
				t.Errorf("format %d with the version damaged to %d: %v", h.format, version, err)
			}
			b = append(b[:len(b)-1], b[len(b)-1]^1) // a checksum that is not of this layout
			_, err := readSegments(t, b)
			if newer := errors.As(err, new(*fault.FormatError)); newer != (version > format) {
				t.Errorf("a segment of format %d: %v", version, err)
			}
		}
	}
	_, err := readSegments(t, []byte("KZHLOG\x00\x09 and what format 9 has"))
	if err == nil || !strings.Contains(err.Error(), "000007.log: its format is 9") {
		t.Errorf("a segment of format 9: %v", err)
	}
}

// TestImpossibleEnds reads headers that say where the segment before them ends, with a
// good checksum, and cannot be true.
func TestImpossibleEnds(t *testing.T) {
	for _, h := range testHeaders() {
		first := append(h.append(nil), sealed(h, h.size(), 1, 0, "")...)
		for _, end := range impossibleEnds(h, first) {
			next := newHeader(h.number+1, end, 1)
			_, err := readSegments(t, first, next.append(nil))
			if !errors.As(err, new(*fault.CorruptError)) {
				t.Errorf("format %d: the segment ends at %d: %v", h.format, end, err)
			}
		}
	}
}

// impossibleEnds returns where the valid part of a segment with the header cannot end.
func impossibleEnds(h header, segment []byte) []int64 {
	return []int64{-1 << 63, -1, 0, 1, h.size() - 1, int64(len(segment)) + 1, 1<<63 - 1}
}

// FuzzRead reads two segments with any headers, and frames with checksums that fit.
func FuzzRead(f *testing.F) {
	for _, h := range testHeaders() {
		first := append(h.append(nil), sealed(h, h.size(), 1, 0, "")...)
		next := newHeader(h.number+1, int64(len(first)), 1)
		f.Add(first, next.append(nil))
		f.Add(first, append(next.append(nil), sealed(next, headerSize, 5, 44, "payload")...))
		for _, end := range impossibleEnds(h, first) {
			wrong := newHeader(h.number+1, end, 1)
			f.Add(first, wrong.append(nil))
		}
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		fixHeader(first)
		fixHeader(second)
		l, err := readSegments(t, first, second)
		if err == nil && (l.size > int64(len(second)) || l.torn < 0 || int64(len(l.unproven)) > l.size) {
			t.Errorf("the log ends at %d of %d bytes, %d are torn, and %d may not be on the disk", l.size, len(second), l.torn, len(l.unproven))
		}
	})
}

// fixHeader makes the checksum of a segment's header fit.
func fixHeader(b []byte) {
	for _, h := range testHeaders() {
		if end := int(h.size()) - 4; len(b) >= end+4 && bytes.HasPrefix(b, []byte(headerMagics[h.format])) {
			binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
		}
	}
}

// pageSize is what an operating system writes to the disk at once.
const pageSize = 4096

// cachedFS is a file system with a page cache as Linux has it: a sync that fails drops
// what it was to bring to the disk, though reads go on showing it, and no later sync brings
// it there.
type cachedFS struct {
	*vfs.MemFS // what reads show
	files      map[string]*cachedPages
	fail       bool // the next sync
}

// cachedPages are the pages of a file.
type cachedPages struct {
	disk  []byte
	dirty map[int64]bool
}

func newCachedFS() *cachedFS {
	return &cachedFS{MemFS: vfs.NewMem(), files: map[string]*cachedPages{}}
}

func (c *cachedFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &cachedFile{File: f, fs: c, pages: c.files[name]}, nil
}

// Create implements [vfs.FS].
func (c *cachedFS) Create(name string, w vfs.DiskWriteCategory) (vfs.File, error) {
	c.files[name] = &cachedPages{dirty: map[int64]bool{}}
	f, err := c.MemFS.Create(name, w)
	return c.wrap(name, f, err)
}

// OpenReadWrite implements [vfs.FS].
func (c *cachedFS) OpenReadWrite(name string, w vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.MemFS.OpenReadWrite(name, w, o...)
	return c.wrap(name, f, err)
}

// Rename implements [vfs.FS].
func (c *cachedFS) Rename(from, to string) error {
	if pages := c.files[from]; pages != nil {
		delete(c.files, from)
		c.files[to] = pages
	}
	return c.MemFS.Rename(from, to)
}

// losePower returns what the disk has.
func (c *cachedFS) losePower(t *testing.T) *vfs.MemFS {
	t.Helper()
	disk := vfs.NewMem()
	for name, pages := range c.files {
		if _, err := c.Stat(name); err != nil {
			continue // it was removed
		}
		if err := files.WriteSynced(disk, name, pages.disk); err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// cachedFile is an open file of a cachedFS.
type cachedFile struct {
	vfs.File
	fs    *cachedFS
	pages *cachedPages
	at    int64 // where Read and Write go on
}

// Read implements [io.Reader].
func (f *cachedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.at += int64(n)
	return n, err
}

// Write implements [io.Writer].
func (f *cachedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.dirty(f.at, n)
	f.at += int64(n)
	return n, err
}

// WriteAt implements [io.WriterAt].
func (f *cachedFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := f.File.WriteAt(p, at)
	f.dirty(at, n)
	return n, err
}

func (f *cachedFile) dirty(at int64, n int) {
	for page := at / pageSize; page*pageSize < at+int64(n); page++ {
		f.pages.dirty[page] = true
	}
}

// Sync implements [vfs.File].
func (f *cachedFile) Sync() error {
	defer clear(f.pages.dirty)
	if f.fs.fail {
		f.fs.fail = false
		return errors.New("the disk does not answer")
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	f.pages.disk = append(f.pages.disk, make([]byte, max(0, int(info.Size())-len(f.pages.disk)))...)
	for page := range f.pages.dirty {
		at := page * pageSize
		if _, err := f.ReadAt(f.pages.disk[at:min(at+pageSize, info.Size())], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// SyncData implements [vfs.File].
func (f *cachedFile) SyncData() error { return f.Sync() }

// appendVersion appends a frame with a mutation of so many bytes.
func appendVersion(l *Log, version int64, size int) error {
	set := mutation.Mutation{Op: mutation.OpSet, Key: []byte("key"), Value: make([]byte, size)}
	return l.Append(version, AppendMutation(make([]byte, FrameHeadSize), &set))
}

// TestFailedSync ends a log with a sync that fails, reads it from the cache of the
// operating system, as the next opening does, and goes on. After a power loss all is
// there that the readers have seen.
func TestFailedSync(t *testing.T) {
	for _, size := range []int{1, pageSize, 10 * pageSize} {
		for lazy, frames := range map[bool]int64{false: 3, true: 9} {
			t.Run(fmt.Sprintf("lazy=%v/%d", lazy, size), func(t *testing.T) { testFailedSync(t, lazy, frames, size) })
		}
	}
}

func testFailedSync(t *testing.T, lazy bool, frames int64, size int) {
	fs := newCachedFS()
	l, _ := startLog(t, fs, lazy)
	for v := range frames {
		if err := appendVersion(l, v+1, size); err != nil {
			t.Fatal(err)
		}
	}
	fs.fail = true
	if err := errors.Join(appendVersion(l, frames+1, size), l.Sync(), l.Release()); err == nil {
		t.Fatal("a sync has failed without an error")
	}
	l, seen := startLog(t, fs, lazy)
	for v := range frames {
		if err := appendVersion(l, frames+2+v, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(l.Sync(), l.Release()); err != nil {
		t.Fatal(err)
	}
	found := readVersions(t, fs.losePower(t), lazy)
	if len(found) != len(seen)+int(frames) || !slices.Equal(found[:len(seen)], seen) {
		t.Errorf("after a power loss the log has versions %d; an opening read %d, and %d were added", found, seen, frames)
	}
}

// startLog reads a log and starts it, and returns which versions it has.
func startLog(t *testing.T, fs vfs.FS, lazy bool) (l *Log, versions []int64) {
	t.Helper()
	l, err := Read(Options{FS: fs, Lazy: lazy, SegmentSize: 1 << 20}, Replay{Apply: func(v int64, _ mutation.Mutation) { versions = append(versions, v) }})
	if err == nil {
		err = l.Start(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, versions
}

func readVersions(t *testing.T, fs vfs.FS, lazy bool) (versions []int64) {
	t.Helper()
	_, err := Read(Options{FS: fs, Lazy: lazy}, Replay{Apply: func(v int64, _ mutation.Mutation) { versions = append(versions, v) }})
	if err != nil {
		t.Fatal(err)
	}
	return versions
}
