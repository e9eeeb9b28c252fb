// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
)

// guessedFrame returns a value that looks like a record of the log, of format 1, as a
// program can make it that knows the source and guesses the segment's number.
func guessedFrame(segment uint64, version, synced int64) []byte {
	b := []byte{0xf2, 'K', 'Z', 0x01, 0, 0, 0, 0}
	b = binary.LittleEndian.AppendUint64(b, uint64(version))
	b = binary.LittleEndian.AppendUint64(b, uint64(synced))
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(b, table), table, binary.LittleEndian.AppendUint64(nil, segment))
	return binary.LittleEndian.AppendUint32(b, sum)
}

// TestValuesLikeRecords stores values that look like records of the log, or are copies
// of its records, and takes the power away while the last commit is written: a part of
// it is on the disk. The database opens, with all commits before.
func TestValuesLikeRecords(t *testing.T) {
	values := map[string]func(segment []byte) []byte{
		"synced far":  func([]byte) []byte { return guessedFrame(1, 1<<60, 1<<40) },
		"synced near": func([]byte) []byte { return guessedFrame(1, 1<<60, 40) },
		"a copy":      func(segment []byte) []byte { return segment[lastFrame(t, segment):] },
		"all of it":   func(segment []byte) []byte { return segment },
		"beginnings":  func(segment []byte) []byte { return segment[32:36] },
	}
	for name, value := range values {
		for _, noSync := range []bool{false, true} {
			fs := crashedLog(t, 4, noSync, func(db *Database) {
				if err := db.disk.log.Sync(); err != nil {
					t.Fatal(err)
				}
				look := value(readFile(t, db.disk.options.FS, logName(1)))
				transact(t, db, func(tx kv.Transaction) {
					for i := range 3000/len(look) + 1 {
						tx.Set(binary.BigEndian.AppendUint16([]byte("zz"), uint16(i)), look)
					}
				})
			})
			data := readFile(t, fs, logName(1))
			last := lastFrame(t, data)
			for _, lose := range []int64{28, 100, 512, 2000} {
				torn := slices.Clone(data)
				for at := last; at < last+lose; at++ {
					torn[at] ^= 0x5a // as what the blocks of a file held before
				}
				copied := wholeCopy(fs)
				writeFile(t, copied, logName(1), torn)
				if got, err := reopen(t, copied); err != nil || got != 4 {
					t.Fatalf("%s, no sync %t, without %d bytes: transaction %d is the last, %v", name, noSync, lose, got, err)
				}
			}
		}
	}
}

// watchedFS calls a function before a file is made.
type watchedFS struct {
	vfs.FS
	created func(name string)
}

func (w watchedFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	w.created(name)
	return w.FS.Create(name, c)
}

// TestFormat1 opens folders that a version of this library wrote whose log had no salt:
// all is there, the folder gets the new format before the first segment that the old
// version cannot read, and what a crash has cut off is cut off.
func TestFormat1(t *testing.T) {
	for name, torn := range map[string]bool{"closed": false, "backup": false, "crashed": false, "crashed while writing": true} {
		t.Run(name, func(t *testing.T) {
			from, _, _ := strings.Cut(name, " ")
			fs, want := formatOneFolder(t, from), 60
			if torn {
				data := readFile(t, fs, logName(5))
				writeFile(t, fs, logName(5), data[:len(data)-10])
				want = 59
			}
			if _, err := Verify(t.Context(), "db", Options{FS: fs}); err != nil {
				t.Error(err)
			}
			id, format, err := readIdentity(fs, "db")
			if err != nil || format != 1 && from != "backup" {
				t.Fatalf("the folder has format %d, %v", format, err)
			}
			readOnly, err := OpenWith("db", Options{FS: fs, ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			if last := checkNumbered(t, readOnly); last != want {
				t.Errorf("for reading, transaction %d is the last, want %d", last, want)
			}
			closeTest(t, readOnly)
			begun := 0
			db := openTest(t, Options{noAbsorb: true, FS: watchedFS{fs, func(file string) {
				if !strings.HasSuffix(file, ".log") || strings.Contains(file, baseDir) {
					return
				}
				begun++
				if now, format, err := readIdentity(fs, "db"); err != nil || format != noteFormat || id != "" && now != id {
					t.Errorf("while %s is begun the folder has format %d and identity %q, want %d and %q; %v", file, format, now, noteFormat, id, err)
				}
			}}})
			if last := checkNumbered(t, db); last != want || begun == 0 {
				t.Errorf("transaction %d is the last, want %d; %d segments were begun", last, want, begun)
			}
			if err := commitNumbered(t, db, want+1); err != nil {
				t.Fatal(err)
			}
			closeTest(t, db)
			if last, err := reopen(t, fs); err != nil || last != want+1 {
				t.Errorf("opened again, transaction %d is the last, want %d; %v", last, want+1, err)
			}
		})
	}
}

// formatOneFolder returns a folder of format 1, from testdata.
func formatOneFolder(t *testing.T, name string) *vfs.MemFS {
	t.Helper()
	fs, root := vfs.NewCrashableMem(), filepath.Join("testdata", "format1", name)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := "db" + filepath.ToSlash(strings.TrimPrefix(path, root))
		if d.IsDir() {
			return fs.MkdirAll(to, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		overwrite(t, fs, to, bytes.Clone(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fs
}
