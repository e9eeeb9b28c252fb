// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/files"
)

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
// each is found, in that file and not behind that byte.
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
// where a segment ends, behind which the file may have a rest of an older one.
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
		if opened, err := OpenWith("backup", Options{FS: copied, noAbsorb: true}); err == nil {
			_ = opened.Close()
			t.Errorf("without %s the backup opens", name)
		}
	}
}
