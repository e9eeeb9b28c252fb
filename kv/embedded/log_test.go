// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
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

// TestTornTail cuts the last segment off at every byte: what is whole is there.
func TestTornTail(t *testing.T) {
	fs, names := logOf(t, 3, 1<<20)
	data := readFile(t, fs, names[0])
	most := 0
	for size := range len(data) + 1 {
		for _, garbage := range [][]byte{nil, make([]byte, 50), bytes.Repeat([]byte{0xf2}, 50)} {
			for _, name := range segmentsOf(t, fs) {
				if err := fs.Remove("db/" + name); err != nil {
					t.Fatal(err)
				}
			}
			writeFile(t, fs, names[0], append(slices.Clone(data[:size]), garbage...))
			last, err := reopen(t, fs)
			if err != nil || last < most {
				t.Fatalf("cut at %d of %d: transaction %d is the last, want %d or more; %v", size, len(data), last, most, err)
			}
			most = last
			if again, err := reopen(t, fs); err != nil || again != last { // the torn segment is no longer the last
				t.Fatalf("cut at %d, opened twice: transaction %d, want %d; %v", size, again, last, err)
			}
		}
	}
	if most != 3 {
		t.Errorf("the whole log has %d transactions, want 3", most)
	}
}

// TestDamage changes every byte of a log: either it is the last record, which
// might be torn, or opening says where the damage is.
func TestDamage(t *testing.T) {
	fs, names := logOf(t, 12, 300)
	if len(names) < 3 {
		t.Fatalf("the log has %d segments, want some", len(names))
	}
	for i, name := range names {
		data := readFile(t, fs, name)
		lastRecord := int64(len(data))
		if i == len(names)-1 {
			lastRecord = lastFrame(t, data, uint64(i+1))
		}
		for at := range data {
			damaged := slices.Clone(data)
			damaged[at] ^= 0x41
			copied := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
			writeFile(t, copied, name, damaged)
			last, err := reopen(t, copied)
			if int64(at) >= lastRecord {
				if err != nil || last != 11 {
					t.Fatalf("%s, byte %d of the last record: transaction %d is the last, %v", name, at, last, err)
				}
				continue
			}
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || path.Base(corrupt.File) != name || corrupt.Offset > int64(at) {
				t.Fatalf("%s, byte %d: %v, want a CorruptError there", name, at, err)
			}
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
	for _, name := range names[:len(names)-1] {
		data := readFile(t, fs, name)
		if err := fs.Remove("db/" + name); err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if _, err := reopen(t, fs); !errors.As(err, &corrupt) || path.Base(corrupt.File) != name {
			t.Errorf("without %s: %v, want a CorruptError that names it", name, err)
		}
		writeFile(t, fs, name, data)
	}
	if last, err := reopen(t, fs); err != nil || last != 12 {
		t.Errorf("with all segments again: %d, %v", last, err)
	}
}

func appendChanges(b []byte, changes []mutation) []byte {
	for i := range changes {
		b = appendChange(b, &changes[i])
	}
	return b
}

// FuzzDecodeChanges decodes anything; what decodes comes out again the same.
func FuzzDecodeChanges(f *testing.F) {
	f.Add(appendChanges(nil, []mutation{
		{op: opSet, key: []byte("key"), value: []byte("value")},
		{op: opSet, key: []byte{}, value: []byte{}},
		{op: opSet, key: []byte("cleared")},
		{op: opClearRange, key: []byte("a"), value: []byte("b")},
	}))
	f.Add([]byte{logSet, 200, 1})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, data []byte) {
		decode := func(data []byte) (changes []mutation, err error) {
			err = decodeChanges(data, func(m mutation) { changes = append(changes, m) })
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
		if diff := cmp.Diff(changes, again, cmp.AllowUnexported(mutation{})); diff != "" {
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
