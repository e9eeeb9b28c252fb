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

	"github.com/kazahana-db/kazahana/internal/seed"
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

// TestFormat1 opens folders that a version of this library wrote whose log had no salt:
// all is there, the folder gets the new format before the first commit that the old
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
			db := openTest(t, Options{noAbsorb: true, FS: fs})
			if last := checkNumbered(t, db); last != want {
				t.Errorf("transaction %d is the last, want %d", last, want)
			}
			if now, format, err := readIdentity(fs, "db"); err != nil || format != noteFormat || id != "" && now != id {
				t.Errorf("after opening the folder has format %d and identity %q, want %d and %q; %v", format, now, noteFormat, id, err)
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

// TestCrashesOfUpgrade takes the power away before each operation of the first opening
// of a folder of format 1, and again while what is left is opened: nothing is lost, and
// the folder opens.
func TestCrashesOfUpgrade(t *testing.T) {
	for name, prepare := range map[string]func(fs *vfs.MemFS) (want int){
		"closed":  func(*vfs.MemFS) int { return 60 },
		"backup":  func(*vfs.MemFS) int { return 60 },
		"crashed": func(*vfs.MemFS) int { return 60 },
		"crashed in a frame": func(fs *vfs.MemFS) int {
			data := readFile(t, fs, logName(5))
			writeFile(t, fs, logName(5), data[:len(data)-10])
			return 59
		},
		"crashed in a header": func(fs *vfs.MemFS) int {
			writeFile(t, fs, logName(6), []byte("KZHLOG\x00\x01"))
			return 60
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, _, _ := strings.Cut(name, " ")
			fs := formatOneFolder(t, from)
			want, random := prepare(fs), seed.Rand(t)
			first := newCrashPoints(wholeCopy(fs), random, 1)
			upgradeAndCommit(t, first, want, "none")
			again := 0
			for _, p := range first.pictures {
				second := newCrashPoints(p.mem, random, 5+random.Int64N(20))
				last := upgradeAndCommit(t, second, want, p.before)
				for _, next := range second.pictures {
					upgradeAndCommit(t, next.mem, last, p.before+", and then "+next.before)
					again++
				}
			}
			t.Logf("%d crashes, %d while opening again", len(first.pictures), again)
		})
	}
}

// upgradeAndCommit opens a folder after a crash, which ends with a transaction or the
// one after it, and commits another. It returns the number of the last one that was there.
func upgradeAndCommit(t *testing.T, fs vfs.FS, least int, crash string) int {
	t.Helper()
	db, err := OpenWith("db", Options{FS: fs, noAbsorb: true})
	if err != nil {
		t.Fatalf("after a crash before %s: %v", crash, err)
	}
	last := checkNumbered(t, db)
	if last != least && last != least+1 {
		t.Fatalf("after a crash before %s transaction %d is the last, want %d", crash, last, least)
	}
	if err := commitNumbered(t, db, last+1); err != nil {
		t.Fatal(err)
	}
	closeTest(t, db)
	return last
}
