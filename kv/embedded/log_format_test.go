// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
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

// foldersOf says how many transactions the folders testdata/format1, … have: format N is what
// the versions wrote for which noteFormat was N.
var foldersOf = map[int]int{1: 60, 2: 30}

// TestFormatsOfFolders opens folders that versions of this library wrote: all is there, a
// folder gets the newest format before the first commit that an old version cannot read, and
// what a crash has cut off is cut off. A backup is restored, too. A new format gets folders of
// its own by -args -adopt.
func TestFormatsOfFolders(t *testing.T) {
	if _, err := os.Stat(formatFolder(noteFormat)); errors.Is(err, os.ErrNotExist) && formats.Adopting() {
		writeFolders(t, formatFolder(noteFormat), foldersOf[noteFormat])
	}
	for format := 1; format <= noteFormat; format++ {
		for name, torn := range map[string]bool{"closed": false, "backup": false, "restored": false, "crashed": false, "crashed while writing": true} {
			t.Run(fmt.Sprint(format, " ", name), func(t *testing.T) {
				fs, want := openedFolder(t, format, name), foldersOf[format]
				if torn {
					last := lastSegment(t, fs)
					data := readFile(t, fs, last)
					writeFile(t, fs, last, data[:len(data)-10])
					want--
				}
				checkFolder(t, fs, format, want)
			})
		}
	}
}

// openedFolder returns a folder of a format, a restored one of its backup.
func openedFolder(t *testing.T, format int, name string) *vfs.MemFS {
	t.Helper()
	if name != "restored" {
		from, _, _ := strings.Cut(name, " ")
		return storedFolder(t, format, from)
	}
	fs := storedFolder(t, format, "backup")
	if err := fs.Rename("db", "backup"); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), "backup", "db", Options{FS: fs}); err != nil {
		t.Fatal(err)
	}
	return fs
}

// checkFolder opens a folder for reading and for writing, and commits.
func checkFolder(t *testing.T, fs *vfs.MemFS, written, want int) {
	t.Helper()
	if _, err := Verify(t.Context(), "db", Options{FS: fs}); err != nil {
		t.Error(err)
	}
	id, format, err := readIdentity(fs, "db")
	if err != nil || format != written && id != "" {
		t.Fatalf("the folder has format %d, want %d; %v", format, written, err)
	}
	readOnly, err := Open("db", Options{FS: fs, ReadOnly: true})
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
}

// lastSegment returns the path of the newest segment of the log.
func lastSegment(t *testing.T, fs vfs.FS) string {
	t.Helper()
	numbers, err := commitlog.List(fs, "db")
	if err != nil {
		t.Fatal(err)
	}
	return logName(int(numbers[len(numbers)-1]))
}

// formatFolder returns where the folders of a format are.
func formatFolder(format int) string {
	return filepath.Join("testdata", fmt.Sprint("format", format))
}

// storedFolder returns a folder of a format, from testdata.
func storedFolder(t *testing.T, format int, name string) *vfs.MemFS {
	t.Helper()
	fs, root := vfs.NewCrashableMem(), filepath.Join(formatFolder(format), name)
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

// writeFolders writes folders with n transactions: a database that is closed, one that was
// left without that, and a backup. Some transactions are in the base, the others in the log.
func writeFolders(t *testing.T, root string, n int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	db, err := Open(dir, Options{noAbsorb: true, segmentSize: 900, window: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
		if i == n/3 {
			if err := errors.Join(db.disk.absorber.Pass(), db.disk.base.Store().Flush()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := db.Backup(t.Context(), filepath.Join(dir, "..", "backup")); err != nil {
		t.Fatal(err)
	}
	copyFolder := func(from, to string) {
		if err := os.CopyFS(filepath.Join(root, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{lockName, holderName, filepath.Join(baseDir, "LOCK")} {
			if err := os.Remove(filepath.Join(root, to, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	copyFolder(filepath.Join(dir, "..", "backup"), "backup")
	copyFolder(dir, "crashed")
	closeTest(t, db)
	copyFolder(dir, "closed")
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
			fs := storedFolder(t, 1, from)
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
	db, err := Open("db", Options{FS: fs, noAbsorb: true})
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
