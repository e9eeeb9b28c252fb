// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

// logOf returns a file system with a database that has in its log transactions 1 to
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
	db, err := Open("db", Options{FS: fs, noAbsorb: true})
	if err != nil {
		return 0, err
	}
	defer closeTest(t, db)
	return checkNumbered(t, db), nil
}

// crashedLog returns what a crash of the machine leaves of a database with a log that
// holds transactions 1 to n, which are on the disk, in one segment.
func crashedLog(t *testing.T, n int, noSync bool, before func(*Database)) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	db := openTest(t, Options{FS: fs, NoSync: noSync, noAbsorb: true})
	defer closeTest(t, db)
	for i := range n {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
	}
	before(db)
	return wholeCopy(fs)
}

func justCommitted(*Database) {}

// TestTornTail cuts the last record of a crashed database off at every byte, as
// a crash does while it is written: all others are there. Of a database that was
// closed nothing can be torn: each cut is damage.
func TestTornTail(t *testing.T) {
	for _, closed := range []bool{false, true} {
		fs := crashedLog(t, 4, false, justCommitted)
		name := logName(1)
		if closed {
			closeTest(t, openTest(t, Options{FS: fs, noAbsorb: true}))
		}
		data := readFile(t, fs, name)
		from := lastFrame(t, data)
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
			keep := func(db *Database) {
				l := db.disk.log
				if err := l.Sync(); err == nil && kept {
					if err := l.Confirm(); err != nil {
						t.Fatal(err)
					}
				}
			}
			fs := crashedLog(t, 12, noSync, keep)
			name := logName(1)
			data := readFile(t, fs, name)
			end := lastFrame(t, data)
			every := 1
			if testing.Short() {
				every = 7
			}
			for at := 0; at < int(end); at += every {
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

// diskSector is what a disk writes whole or not at all.
const diskSector = 512

// logName returns the name of a segment's file.
func logName(number int) string { return fmt.Sprintf("%06d.log", number) }

// TestLostSectors zeroes sectors that a crash of the machine may have lost after
// NoSync: what comes before them is there. Any other change in front of valid
// records is damage.
func TestLostSectors(t *testing.T) {
	fs := crashedLog(t, 60, true, justCommitted)
	name := logName(1)
	data := readFile(t, fs, name)
	sectors := len(data) / diskSector
	if sectors < 10 {
		t.Fatalf("the log has %d sectors, want some", sectors)
	}
	least := 0
	for lost := 1; lost < sectors; lost++ {
		torn := slices.Clone(data)
		clear(torn[lost*diskSector : (lost+1)*diskSector])
		copied := wholeCopy(fs)
		writeFile(t, copied, name, torn)
		last, err := reopen(t, copied)
		if err != nil || last < least || last >= 60 {
			t.Fatalf("without sector %d of %d: transaction %d is the last, want %d or more; %v", lost, sectors, last, least, err)
		}
		least = last
		for at := lost * diskSector; at < (lost+1)*diskSector; at += 37 {
			expectDamage(t, fs, name, data, at)
		}
	}
}

// lastFrame returns where the last record of a segment begins: after the header of
// 44 bytes, which has the first bytes of records at its offset 32, each record has a
// head of 28, with the payload's size at its fifth byte.
func lastFrame(t *testing.T, data []byte) (last int64) {
	t.Helper()
	for at := int64(44); at < int64(len(data)); {
		if !bytes.HasPrefix(data[at:], data[32:36]) {
			t.Fatalf("no record at %d", at)
		}
		last, at = at, at+28+int64(binary.LittleEndian.Uint32(data[at+4:]))
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

// TestReadShortenedLog lists the log of a database that has dropped its first segments: what is left
// of it is not damaged.
func TestReadShortenedLog(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, crashOptions(fs, false))
	for i := range 200 {
		if err := errors.Join(commitNumbered(t, db, i+1), db.disk.absorber.Pass()); err != nil {
			t.Fatal(err)
		}
	}
	closeTest(t, db)
	listed := 0
	err := ReadLog(t.Context(), "db", Options{FS: fs}, func(LogEntry) error {
		listed++
		return nil
	})
	if err != nil || listed == 0 || listed >= 200 {
		t.Errorf("%d of 200 commits are listed, want the last ones: %v", listed, err)
	}
}
