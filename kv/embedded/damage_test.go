// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

// damages are the ways in which a test damages a file: each returns what it
// makes of the content, nil to remove the file.
var damages = map[string]func(r *rand.Rand, data []byte) []byte{
	"a bit is flipped": func(r *rand.Rand, data []byte) []byte {
		if len(data) > 0 {
			data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		}
		return data
	},
	"a bit near the end is flipped": func(r *rand.Rand, data []byte) []byte {
		if n := len(data); n > 0 {
			data[n-1-r.IntN(min(n, 60))] ^= 1 << r.IntN(8)
		}
		return data
	},
	"zeros": func(r *rand.Rand, data []byte) []byte {
		from, to := somePart(r, len(data))
		clear(data[from:to])
		return data
	},
	"noise": func(r *rand.Rand, data []byte) []byte {
		from, to := somePart(r, len(data))
		for i := from; i < to; i++ {
			data[i] = byte(r.Uint32())
		}
		return data
	},
	"a part is missing": func(r *rand.Rand, data []byte) []byte {
		from, to := somePart(r, len(data))
		return append(data[:from:from], data[to:]...)
	},
	"cut":      func(r *rand.Rand, data []byte) []byte { return data[:r.IntN(len(data)+1)] },
	"emptied":  func(*rand.Rand, []byte) []byte { return []byte{} },
	"extended": func(r *rand.Rand, data []byte) []byte { return append(data, make([]byte, 1+r.IntN(100))...) },
	"removed":  func(*rand.Rand, []byte) []byte { return nil },
}

func somePart(r *rand.Rand, n int) (from, to int) {
	from = r.IntN(n + 1)
	return from, from + r.IntN(n-from+1)
}

// foundNumbered returns the number of the last transaction that a folder holds,
// or why it cannot be opened or read.
func foundNumbered(t *testing.T, fs vfs.FS) (last int, err error) {
	db, err := Open("db", Options{FS: fs, noAbsorb: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		_, err := readPairs(tx, everything, kv.RangeOptions{})
		return err
	})
	if err != nil {
		return 0, err
	}
	return checkNumbered(t, db), nil
}

// closedDatabases are folders that were closed. Their last transaction is the
// given one.
func closedDatabases(t *testing.T) (folders map[string]*vfs.MemFS, last map[string]int) {
	folders, last = map[string]*vfs.MemFS{}, map[string]int{}
	folders["one segment"], _ = logOf(t, 100, 1<<20)
	folders["many segments"], _ = logOf(t, 30, 1000)
	folders["tables and segments"] = filledDatabase(t)
	last["one segment"], last["many segments"], last["tables and segments"] = 100, 30, 60
	return folders, last
}

// TestRandomDamage damages one file of a database that was closed, at random, in
// every way: no transaction is ever missing without an error, and what Verify
// calls sound is complete.
func TestRandomDamage(t *testing.T) {
	random, rounds := seed.Rand(t), 12
	if testing.Short() {
		rounds = 3
	}
	folders, last := closedDatabases(t)
	reported, harmless := map[string]int{}, map[string]int{}
	for folder, fs := range folders {
		files := contentsOf(t, fs, "db")
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for _, how := range slices.Sorted(maps.Keys(damages)) {
				for range rounds {
					what := fmt.Sprintf("%s: %s: %s", folder, name, how)
					copied := wholeCopy(fs)
					if !damageFile(t, copied, name, files[name], damages[how], random) {
						continue
					}
					if expectNotSilent(t, copied, what, last[folder]) {
						reported[path.Base(name)]++
					} else {
						harmless[path.Base(name)]++
					}
				}
			}
		}
	}
	t.Logf("reported %v; without loss %v", reported, harmless)
}

func wholeCopy(fs *vfs.MemFS) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
}

// damageFile damages a file and reports whether that has changed it.
func damageFile(t *testing.T, fs vfs.FS, name, text string, damage func(*rand.Rand, []byte) []byte, random *rand.Rand) bool {
	t.Helper()
	damaged := damage(random, []byte(text))
	switch {
	case damaged == nil:
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
	case string(damaged) == text:
		return false
	default:
		overwrite(t, fs, name, damaged)
	}
	return true
}

// expectNotSilent opens and verifies a damaged folder. It reports whether opening
// or reading it has failed.
func expectNotSilent(t *testing.T, fs *vfs.MemFS, what string, want int) (failed bool) {
	t.Helper()
	before := contentsOf(t, fs, "db")
	_, verified := Verify(t.Context(), "db", Options{FS: fs})
	found, err := foundNumbered(t, fs)
	switch {
	case err == nil && found != want:
		t.Fatalf("%s: opening succeeds with %d of %d transactions", what, found, want)
	case err != nil && verified == nil:
		t.Fatalf("%s: Verify calls it sound, and opening fails: %v", what, err)
	case err != nil && errors.As(err, new(*fault.CorruptError)):
		if after := contentsOf(t, fs, "db"); !sameFiles(before, after) {
			t.Fatalf("%s: opening fails with %v and has changed the folder", what, err)
		}
	}
	return err != nil
}

// sameFiles compares folders, except for the files of the lock.
func sameFiles(a, b map[string]string) bool {
	for _, files := range []map[string]string{a, b} {
		delete(files, "db/"+lockName)
		delete(files, "db/"+holderName)
	}
	return maps.Equal(a, b)
}

// TestLostIdentity removes the file that names a closed database, or damages it and removes it
// then: nothing is lost but the name.
func TestLostIdentity(t *testing.T) {
	folders, last := closedDatabases(t)
	for folder, fs := range folders {
		copied := wholeCopy(fs)
		overwrite(t, copied, "db/"+identityName, []byte("damaged"))
		if _, err := Verify(t.Context(), "db", Options{FS: copied}); !errors.As(err, new(*fault.CorruptError)) {
			t.Errorf("%s, damaged: Verify returns %v, want a CorruptError", folder, err)
		}
		if _, err := foundNumbered(t, copied); !errors.As(err, new(*fault.CorruptError)) {
			t.Errorf("%s, damaged: Open returns %v, want a CorruptError", folder, err)
		}
		if err := copied.Remove("db/" + identityName); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(t.Context(), "db", Options{FS: copied}); err != nil {
			t.Errorf("%s, lost: Verify returns %v", folder, err)
		}
		if found, err := foundNumbered(t, copied); found != last[folder] || err != nil {
			t.Errorf("%s, lost: Open finds %d of %d transactions, %v", folder, found, last[folder], err)
		}
	}
}

// TestMissingParts removes parts of a closed database, several files at once:
// Open and Verify refuse what is left, and leave it as it is.
func TestMissingParts(t *testing.T) {
	isLog := func(name string) bool { return path.Ext(name) == ".log" && path.Dir(name) == "db" }
	inBase := func(name string) bool { return path.Dir(name) == "db/"+baseDir }
	parts := map[string]func(name string) bool{
		"the base":                            inBase,
		"the log":                             isLog,
		"base and log":                        func(name string) bool { return isLog(name) || inBase(name) },
		"the log and the identity":            func(name string) bool { return isLog(name) || path.Base(name) == identityName },
		"base, log and identity":              func(name string) bool { return isLog(name) || inBase(name) || path.Base(name) == identityName },
		"the base's markers":                  func(name string) bool { return inBase(name) && path.Ext(name) != ".sst" },
		"base, log and what Close has noted":  func(name string) bool { return isLog(name) || inBase(name) || path.Base(name) == closedName },
		"the log and what Close has noted":    func(name string) bool { return isLog(name) || path.Base(name) == closedName },
		"all segments but the first":          func(name string) bool { return isLog(name) && path.Base(name) != logName(1) },
		"the base and what Close has noted":   func(name string) bool { return inBase(name) || path.Base(name) == closedName },
		"the base, and it is an empty folder": inBase,
	}
	folders, _ := closedDatabases(t)
	for folder, fs := range folders {
		files := contentsOf(t, fs, "db")
		for part, belongs := range parts {
			copied, removed := wholeCopy(fs), 0
			for name := range files {
				if belongs(name) {
					removed++
					if err := copied.Remove(name); err != nil {
						t.Fatal(err)
					}
				}
			}
			if removed == 0 {
				continue
			}
			if part == "the base" {
				if err := copied.RemoveAll("db/" + baseDir); err != nil {
					t.Fatal(err)
				}
			}
			before := contentsOf(t, copied, "db")
			for what, try := range map[string]func() error{
				"Verify": func() error { _, err := Verify(t.Context(), "db", Options{FS: copied}); return err },
				"Open":   func() error { _, err := foundNumbered(t, copied); return err },
			} {
				if err := try(); !errors.As(err, new(*fault.CorruptError)) {
					t.Errorf("%s, without %s: %s returns %v, want a CorruptError", folder, part, what, err)
				}
			}
			if !sameFiles(before, contentsOf(t, copied, "db")) {
				t.Errorf("%s, without %s: the folder is changed", folder, part)
			}
		}
	}
}

// filledDatabase closes a database with tables and some segments.
func filledDatabase(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	db := openTest(t, crashOptions(fs, false))
	for i := range 60 {
		if err := commitNumbered(t, db, i+1); err != nil {
			t.Fatal(err)
		}
		if i < 50 {
			if err := db.disk.absorber.Pass(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeTest(t, db)
	return fs
}

// contentsOf returns every file below a folder.
func contentsOf(t *testing.T, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		full := fs.PathJoin(dir, name)
		info, err := fs.Stat(full)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			for name, text := range contentsOf(t, fs, full) {
				files[name] = text
			}
			continue
		}
		file, err := fs.Open(full)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(file)
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		files[full] = string(data)
	}
	return files
}

// TestVerify verifies a whole database: nothing is found, nothing is changed.
func TestVerify(t *testing.T) {
	fs := filledDatabase(t)
	before := contentsOf(t, fs, "db")
	report := verifyTest(t, fs, "db")
	if report.Version == 0 || report.Files < 3 || report.Bytes == 0 || report.Keys == 0 || report.Torn != 0 || report.Backup != nil {
		t.Errorf("the report is %+v", report)
	}
	onlyLog, _ := logOf(t, 12, 1<<20)
	if report := verifyTest(t, onlyLog, "db"); report.Writes < 12*4 {
		t.Errorf("of a database that is in its log the report is %+v", report)
	}
	if diff := cmp.Diff(before, contentsOf(t, fs, "db")); diff != "" {
		t.Errorf("verifying has changed files (-before +after):\n%s", diff)
	}
	db := openAt(t, fs, "db")
	_, err := Verify(t.Context(), "db", Options{FS: fs})
	if locked := (*LockedError)(nil); !errors.As(err, &locked) {
		t.Errorf("of an open database: %v, want a LockedError", err)
	}
	closeTest(t, db)
}

// TestVerifyFindsDamage changes bytes of tables and segments, one at a time:
// each is found, in that file and not after that byte.
func TestVerifyFindsDamage(t *testing.T) {
	random, fs := seed.Rand(t), filledDatabase(t)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	files := contentsOf(t, fs, "db")
	names := []string{}
	for name := range files {
		if path.Dir(name) == "db" && path.Ext(name) == ".log" || path.Ext(name) == ".sst" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	found := map[string]int{}
	for range rounds {
		name := names[random.IntN(len(names))]
		at := random.IntN(usedBytes(files, name))
		damaged := []byte(files[name])
		damaged[at] ^= 1 << random.IntN(8)
		overwrite(t, fs, name, damaged)
		report, err := Verify(t.Context(), "db", Options{FS: fs})
		if !slices.ContainsFunc(report.Damage, func(d *fault.CorruptError) bool { return d.File == name && d.Offset <= int64(at) }) {
			t.Fatalf("byte %d of %s (%d bytes) was changed: %v", at, name, len(damaged), err)
		}
		if corrupt := (*fault.CorruptError)(nil); len(report.Damage) > 0 && !errors.As(err, &corrupt) {
			t.Fatalf("damage is reported as %v", err)
		}
		found[path.Ext(name)]++
		overwrite(t, fs, name, []byte(files[name]))
	}
	t.Logf("damage found: %v", found)
	if found[".sst"] == 0 || found[".log"] == 0 {
		t.Errorf("not all kinds of files were damaged")
	}
	verifyTest(t, fs, "db")
}

// usedBytes returns how many bytes of a file count: the header of the next segment says
// where a segment ends; after it the file may have a rest of an older one.
func usedBytes(files map[string]string, name string) int {
	var number int
	if _, err := fmt.Sscanf(path.Base(name), "%06d.log", &number); err != nil {
		return len(files[name])
	}
	next, ok := files[path.Join(path.Dir(name), logName(number+1))]
	if !ok {
		return len(files[name])
	}
	return int(binary.LittleEndian.Uint64([]byte(next[16:24])))
}

func overwrite(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	if err := files.WriteSynced(fs, name, slices.Clone(data)); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyFindsMissingFiles removes each file in turn.
func TestVerifyFindsMissingFiles(t *testing.T) {
	fs := filledDatabase(t)
	db := openAt(t, fs, "db")
	if err := commitNumbered(t, db, 61); err != nil { // no segment may be empty: it would not be missed
		t.Fatal(err)
	}
	backupTest(t, db, "backup")
	closeTest(t, db)
	for name := range contentsOf(t, fs, "backup") {
		if strings.Contains(name, "OPTIONS") || path.Base(name) == backupName || path.Dir(name) != "backup" && path.Ext(name) == ".log" {
			continue // not needed, or what makes it a backup
		}
		copied := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
		if err := copied.Remove(name); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(t.Context(), "backup", Options{FS: copied})
		if len(report.Damage) == 0 {
			t.Errorf("without %s: %v", name, err)
		}
		if opened, err := Open("backup", Options{FS: copied, noAbsorb: true}); err == nil {
			_ = opened.Close()
			t.Errorf("without %s the backup opens", name)
		}
	}
}
