// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// logOf returns a file system with a database whose log holds transactions 1 to
// n, and the names of its segments.
func logOf(t *testing.T, n int, segmentSize int64) (*vfs.MemFS, []string) {
	t.Helper()
	fs := vfs.NewCrashableMem()
	db := openTest(t, Options{FS: fs, segmentSize: segmentSize, noAbsorb: true})
	for i := range n {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
	}
	closeTest(t, db)
	return fs, segmentsOf(t, fs)
}

func segmentsOf(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	names, err := fs.List("db")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return path.Ext(name) != ".log" })
	slices.Sort(names)
	return names
}

func readFile(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open("db/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fs.Create("db/"+name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(slices.Clone(data)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// reopen opens a database that a test has damaged, and returns the number of
// its last transaction.
func reopen(t *testing.T, fs vfs.FS) (int, error) {
	t.Helper()
	db, err := OpenWith("db", Options{FS: fs, noAbsorb: true})
	if err != nil {
		return 0, err
	}
	defer closeTest(t, db)
	return checkNumbered(t, db), nil
}

// crashedLog returns what a crash of the machine leaves of a database whose log
// holds transactions 1 to n, which are on the disk, in one segment.
func crashedLog(t *testing.T, n int, noSync bool, before func(*log)) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	db := openTest(t, Options{FS: fs, NoSync: noSync, noAbsorb: true})
	defer closeTest(t, db)
	for i := range n {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
	}
	before(db.disk.log)
	return wholeCopy(fs)
}

func justCommitted(*log) {}

// TestTornTail cuts the last record of a crashed database off at every byte, as
// a crash does while it is written: all others are there. Of a database that was
// closed nothing can be torn: each cut is damage.
func TestTornTail(t *testing.T) {
	for _, closed := range []bool{false, true} {
		fs := crashedLog(t, 4, false, justCommitted)
		name := segmentName(1)
		if closed {
			closeTest(t, openTest(t, Options{FS: fs, noAbsorb: true}))
		}
		data := readFile(t, fs, name)
		from := lastFrame(t, data, 1)
		for size := from; size < int64(len(data)); size++ {
			for _, garbage := range [][]byte{nil, make([]byte, 50), bytes.Repeat([]byte{0xf2}, 50)} {
				torn := wholeCopy(fs)
				writeFile(t, torn, name, append(slices.Clone(data[:size]), garbage...))
				last, err := reopen(t, torn)
				if closed && !errors.As(err, new(*fault.CorruptError)) {
					t.Fatalf("closed, then cut at %d of %d: %v, want a CorruptError", size, len(data), err)
				}
				if closed {
					continue
				}
				if err != nil || last != 3 {
					t.Fatalf("cut at %d of %d: transaction %d is the last, want 3; %v", size, len(data), last, err)
				}
				if again, err := reopen(t, torn); err != nil || again != 3 { // the torn segment is no longer the last
					t.Fatalf("cut at %d, opened twice: transaction %d, want 3; %v", size, again, err)
				}
			}
		}
	}
}

// TestDamage changes every byte of the log of a database that was closed: opening
// says where the damage is.
func TestDamage(t *testing.T) {
	fs, names := logOf(t, 12, 300)
	if len(names) < 3 {
		t.Fatalf("the log has %d segments, want some", len(names))
	}
	for _, name := range names {
		data := readFile(t, fs, name)
		for at := range data {
			expectDamage(t, fs, name, data, at)
		}
	}
}

// expectDamage changes one byte of a segment in a copy of the folder.
func expectDamage(t *testing.T, fs *vfs.MemFS, name string, data []byte, at int) {
	t.Helper()
	damaged := slices.Clone(data)
	damaged[at] ^= 0x41
	copied := wholeCopy(fs)
	writeFile(t, copied, name, damaged)
	_, err := reopen(t, copied)
	var corrupt *fault.CorruptError
	if !errors.As(err, &corrupt) || path.Base(corrupt.File) != name || corrupt.Offset > int64(at) {
		t.Fatalf("%s, byte %d of %d: %v, want a CorruptError there", name, at, len(data), err)
	}
}

// TestDamageAfterCrash changes every byte of the log that a crash has left. Only
// the last record may be taken for torn, and not even that once the log has
// written that it is on the disk.
func TestDamageAfterCrash(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		for _, kept := range []bool{false, true} {
			keep := func(l *log) {
				if err := l.sync(); err == nil && kept {
					if err := l.keep(); err != nil {
						t.Fatal(err)
					}
				}
			}
			fs := crashedLog(t, 12, noSync, keep)
			name := segmentName(1)
			data := readFile(t, fs, name)
			end := lastFrame(t, data, 1)
			for at := range data[:end] {
				expectDamage(t, fs, name, data, at)
			}
			for at := end; at < int64(len(data)); at++ {
				damaged := slices.Clone(data)
				damaged[at] ^= 0x41
				copied := wholeCopy(fs)
				writeFile(t, copied, name, damaged)
				want := 11
				if kept {
					want = 12 // what is damaged has no writes
				}
				if last, err := reopen(t, copied); err != nil || last != want {
					t.Fatalf("no sync %t, kept %t, byte %d of the last record: transaction %d, %v, want %d", noSync, kept, at, last, err, want)
				}
			}
		}
	}
}

// TestLostSectors zeroes sectors that a crash of the machine may have lost after
// NoSync: what comes before them is there. Any other change in front of valid
// records is damage.
func TestLostSectors(t *testing.T) {
	fs := crashedLog(t, 60, true, justCommitted)
	name := segmentName(1)
	data := readFile(t, fs, name)
	sectors := len(data) / sectorSize
	if sectors < 10 {
		t.Fatalf("the log has %d sectors, want some", sectors)
	}
	least := 0
	for lost := 1; lost < sectors; lost++ {
		torn := slices.Clone(data)
		clear(torn[lost*sectorSize : (lost+1)*sectorSize])
		copied := wholeCopy(fs)
		writeFile(t, copied, name, torn)
		last, err := reopen(t, copied)
		if err != nil || last < least || last >= 60 {
			t.Fatalf("without sector %d of %d: transaction %d is the last, want %d or more; %v", lost, sectors, last, least, err)
		}
		least = last
		for at := lost * sectorSize; at < (lost+1)*sectorSize; at += 37 {
			expectDamage(t, fs, name, data, at)
		}
	}
}

// lastFrame returns where the last record of a segment begins.
func lastFrame(t *testing.T, data []byte, number uint64) (last int64) {
	t.Helper()
	for at := int64(headerSize); at < int64(len(data)); {
		f, ok := decodeFrame(data[at:], number)
		if !ok {
			t.Fatalf("no record at %d", at)
		}
		last, at = at, f.end(at)
	}
	return last
}

// TestMissingSegment removes each segment in turn.
func TestMissingSegment(t *testing.T) {
	fs, names := logOf(t, 12, 300)
	for _, name := range names {
		data := readFile(t, fs, name)
		if err := fs.Remove("db/" + name); err != nil {
			t.Fatal(err)
		}
		var corrupt *fault.CorruptError
		if _, err := reopen(t, fs); !errors.As(err, &corrupt) || path.Base(corrupt.File) != name {
			t.Errorf("without %s: %v, want a CorruptError that names it", name, err)
		}
		writeFile(t, fs, name, data)
	}
	if last, err := reopen(t, fs); err != nil || last != 12 {
		t.Errorf("with all segments again: %d, %v", last, err)
	}
}

func appendChanges(b []byte, changes []mutation.Mutation) []byte {
	for i := range changes {
		b = appendChange(b, &changes[i])
	}
	return b
}

// FuzzDecodeChanges decodes anything; what decodes comes out again the same.
func FuzzDecodeChanges(f *testing.F) {
	f.Add(appendChanges(nil, []mutation.Mutation{
		{Op: mutation.OpSet, Key: []byte("key"), Value: []byte("value")},
		{Op: mutation.OpSet, Key: []byte{}, Value: []byte{}},
		{Op: mutation.OpSet, Key: []byte("cleared")},
		{Op: mutation.OpClearRange, Key: []byte("a"), Value: []byte("b")},
	}))
	f.Add([]byte{logSet, 200, 1})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, data []byte) {
		decode := func(data []byte) (changes []mutation.Mutation, err error) {
			err = decodeChanges(data, func(m mutation.Mutation) { changes = append(changes, m) })
			return changes, err
		}
		changes, err := decode(data)
		if err != nil {
			if !errors.Is(err, errPayload) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := decode(appendChanges(nil, changes))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changes, again, cmp.AllowUnexported(mutation.Mutation{})); diff != "" {
			t.Errorf("decoded again (-want +got):\n%s", diff)
		}
	})
}

// FuzzDecodeFrame decodes anything; only what was sealed is a frame.
func FuzzDecodeFrame(f *testing.F) {
	sealed := append(make([]byte, frameSize), "payload"...)
	sealFrame(sealed, 7, 123, 36)
	f.Add(sealed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := decodeFrame(data, 7)
		if !ok {
			return
		}
		b := append(make([]byte, frameSize), got.payload...)
		sealFrame(b, 7, got.version, got.synced)
		if !bytes.HasPrefix(data, b) {
			t.Errorf("%x is a frame that nobody has sealed", data)
		}
	})
}
