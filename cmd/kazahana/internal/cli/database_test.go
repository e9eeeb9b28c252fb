// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/tuple"
)

// runCommand runs the command, and returns what it writes and its exit code.
func runCommand(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), code
}

// filledDatabase returns the folder of a closed database with 250 users and a
// large value.
func filledDatabase(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 250 {
		setKey(t, db, userKey(t, i), fmt.Appendf(nil, "user\x00%d", i))
	}
	setKey(t, db, []byte("large\\"), bytes.Repeat([]byte{'v'}, 90_000))
	if err := clitest.Kill(db, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func userKey(t *testing.T, i int) []byte {
	t.Helper()
	key, err := tuple.Tuple{21, "R", "User", i}.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func setKey(t *testing.T, db kv.Database, key, value []byte) {
	t.Helper()
	err := db.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set(key, value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// folderState returns the names and contents of all files below a folder.
func folderState(t *testing.T, folder string) map[string]string {
	t.Helper()
	state := map[string]string{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		state[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// expectUnchanged compares a folder with an earlier state of it.
func expectUnchanged(t *testing.T, args []string, folder string, before map[string]string) {
	t.Helper()
	after := folderState(t, folder)
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%q: the file %s is new", args, name)
		}
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%q: the file %s has changed", args, name)
		}
	}
}

// TestDatabaseMissing: for a folder that is missing, empty, or not a database, each command says
// so, and makes nothing.
func TestDatabaseMissing(t *testing.T) {
	dir := t.TempDir()
	empty, other := filepath.Join(dir, "empty"), filepath.Join(dir, "other")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := folderState(t, dir)
	for _, folder := range []string{filepath.Join(dir, "missing"), empty, other} {
		for _, args := range [][]string{
			{"verify", "--db", folder},
			{"log", "--db", folder},
			{"kv", "get", "--db", folder, "a"},
			{"backup", "--db", folder, filepath.Join(dir, "copy")},
			{"restore", folder, "--db", filepath.Join(dir, "copy")},
		} {
			out, errs, code := runCommand(t, args...)
			if code != 1 || out != "" || !strings.Contains(errs, folder) {
				t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
			}
			expectUnchanged(t, args, dir, before)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}

// TestDatabaseInUse runs every command on a database that is open.
func TestDatabaseInUse(t *testing.T) {
	folder := filledDatabase(t)
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	target := filepath.Join(t.TempDir(), "new")
	for _, args := range [][]string{
		{"verify", "--db", folder}, {"log", "--db", folder}, {"kv", "get", "--db", folder, "a"}, {"backup", "--db", folder, target}, {"restore", folder, "--db", target},
	} {
		if _, errs, code := runCommand(t, args...); code != 1 || !strings.Contains(errs, "is already open in this process") {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a refused command has made its target")
	}
}

// TestDatabaseOfNewerFormat reads a folder that a newer version of the storage
// engine has written.
func TestDatabaseOfNewerFormat(t *testing.T) {
	folder := filledDatabase(t)
	markers, err := filepath.Glob(filepath.Join(folder, "base", "marker.format-version.*"))
	if err != nil || len(markers) != 1 {
		t.Fatalf("markers %q, %v", markers, err)
	}
	newer := filepath.Join(folder, "base", "marker.format-version.000099.999")
	if err := os.Rename(markers[0], newer); err != nil {
		t.Fatal(err)
	}
	before := folderState(t, folder)
	for _, args := range [][]string{
		{"verify", "--db", folder}, {"kv", "get", "--db", folder, "a"}, {"backup", "--db", folder, filepath.Join(t.TempDir(), "new")},
	} {
		if _, errs, code := runCommand(t, args...); code != 1 || !strings.Contains(errs, "open it with the newer version") {
			t.Errorf("%q: exit code %d, %s", args, code, errs)
		}
		expectUnchanged(t, args, folder, before)
	}
}

// TestDatabaseDamage changes a byte of a table: verify lists the place, and its exit code is that
// of damage.
func TestDatabaseDamage(t *testing.T) {
	folder := filledDatabase(t)
	copied := filepath.Join(t.TempDir(), "copy")
	if _, errs, code := runCommand(t, "backup", "--db", folder, copied); code != 0 {
		t.Fatalf("backup: %s", errs)
	}
	logs, err := filepath.Glob(filepath.Join(copied, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("logs %q, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	text[10] ^= 0xff                           // within the header of the segment
	if err := os.Remove(logs[0]); err != nil { // the database shares the file
		t.Fatal(err)
	}
	if err := os.WriteFile(logs[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := runCommand(t, "verify", "--db", copied, "--json")
	var report struct {
		Whole  bool
		Damage []struct{ File, Reason string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitDamaged || report.Whole || len(report.Damage) == 0 || report.Damage[0].File != logs[0] {
		t.Errorf("exit code %d, %v, %s%s", code, err, out, errs)
	}
	if out, errs, code := runCommand(t, "verify", "--db", copied); code != exitDamaged || !strings.Contains(out, "damaged in") || !strings.Contains(errs, "restore a backup into another folder") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if _, errs, code := runCommand(t, "verify", "--db", folder); code != 0 {
		t.Errorf("the database that was copied: exit code %d, %s", code, errs)
	}
	if _, errs, code := runCommand(t, "restore", copied, "--db", filepath.Join(t.TempDir(), "new")); code != exitDamaged {
		t.Errorf("restoring it: exit code %d, %s", code, errs)
	}
}

// TestDatabaseBackupAndRestore backs a database up, restores the backup, and reads the result.
func TestDatabaseBackupAndRestore(t *testing.T) {
	folder, dir := filledDatabase(t), t.TempDir()
	backup, restored := filepath.Join(dir, "backup"), filepath.Join(dir, "restored")
	for _, args := range [][]string{
		{"backup", "--db", folder, backup}, {"verify", "--db", backup}, {"restore", backup, "--db", restored}, {"verify", "--db", restored},
	} {
		if out, errs, code := runCommand(t, args...); code != 0 || !strings.Contains(out, "at version ") {
			t.Errorf("%q: exit code %d, %s%s", args, code, out, errs)
		}
	}
	before := folderState(t, restored)
	for _, args := range [][]string{{"backup", "--db", folder, restored}, {"restore", backup, "--db", restored}} {
		if _, errs, code := runCommand(t, args...); code != 1 || !strings.Contains(errs, "restored") {
			t.Errorf("%q into a database: exit code %d, %s", args, code, errs)
		}
		expectUnchanged(t, args, restored, before)
	}
	out, _, _ := runCommand(t, "kv", "get", "--db", restored, `(21, "R", "User", 249)`)
	if want := "value  user\\x00249\n"; !strings.Contains(out, want) {
		t.Errorf("got %s, want %s", out, want)
	}
}

// TestDatabaseGetRange lists ranges of more keys than one transaction reads.
func TestDatabaseGetRange(t *testing.T) {
	folder := filledDatabase(t)
	for _, test := range []struct {
		args        []string
		first, last int
		count       int
	}{
		{[]string{"--prefix", `(21, "R", "User")`, "--limit", "0"}, 0, 249, 250},
		{[]string{"--prefix", `(21, "R", "User")`, "--limit", "0", "--reverse"}, 249, 0, 250},
		{[]string{"--prefix", `(21, "R", "User")`}, 0, 99, 100},
		{[]string{"--prefix", `(21, "R", "User")`, "--limit", "130", "--reverse"}, 249, 120, 130},
		{[]string{"--from", `(21, "R", "User", 5)`, "--to", `(21, "R", "User", 7)`}, 5, 6, 2},
		{[]string{"--from", `(21, "R", "User", 240)`, "--to", `\xff\xff`}, 240, -1, 11},
	} {
		args := append([]string{"kv", "range", "--db", folder, "--json", "--keys-only"}, test.args...)
		out, errs, code := runCommand(t, args...)
		var keys []string
		for line := range strings.Lines(out) {
			var p struct{ KeyHex, KeyTuple string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, p.KeyHex)
		}
		if code != 0 || len(keys) != test.count || keys[0] != fmt.Sprintf("%x", userKey(t, test.first)) {
			t.Fatalf("%q: exit code %d, %d keys, %s", test.args, code, len(keys), errs)
		}
		if last := keys[len(keys)-1]; test.last >= 0 && last != fmt.Sprintf("%x", userKey(t, test.last)) {
			t.Errorf("%q: the last key is %s", test.args, last)
		}
		sorted := slices.Sorted(slices.Values(keys))
		if slices.Contains(test.args, "--reverse") {
			slices.Reverse(sorted)
		}
		if !slices.Equal(keys, slices.Compact(sorted)) {
			t.Errorf("%q: the keys are not in order, or come twice", test.args)
		}
	}
}

// TestDatabaseGetLargeValue shows a large value cut as text, and whole as JSON.
func TestDatabaseGetLargeValue(t *testing.T) {
	folder := filledDatabase(t)
	out, _, code := runCommand(t, "kv", "get", "--db", folder, `large\\`)
	if code != 0 || len(out) > 1200 || !strings.Contains(out, "… and 89000 bytes more") {
		t.Errorf("exit code %d, %d bytes: %.100s", code, len(out), out)
	}
	out, errs, _ := runCommand(t, "kv", "get", "--db", folder, `large\\`, "--json")
	var p struct {
		Key, Value string
		ValueBytes int
	}
	if err := json.Unmarshal([]byte(out), &p); err != nil || p.Key != `large\\` || len(p.Value) != 90_000 || p.ValueBytes != 90_000 {
		t.Errorf("%v, %q, %d bytes, %s", err, p.Key, len(p.Value), errs)
	}
}

// TestDatabaseLog lists the log: versions grow, and the first keys are those that
// were written.
func TestDatabaseLog(t *testing.T) {
	folder := filledDatabase(t)
	out, errs, code := runCommand(t, "log", "--db", folder, "--json")
	type line struct {
		Version, Bytes          int64
		Writes                  int
		FirstKey, FirstKeyTuple string
	}
	var lines []line
	for text := range strings.Lines(out) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if len(lines) > 0 && l.Version <= lines[len(lines)-1].Version {
			t.Errorf("version %d follows %d", l.Version, lines[len(lines)-1].Version)
		}
		lines = append(lines, l)
	}
	if code != 0 || len(lines) != 251 || lines[7].FirstKeyTuple != `(21, "R", "User", 7)` || lines[7].Writes != 1 || lines[250].Bytes != 90_006 {
		t.Fatalf("exit code %d, %d lines, %s", code, len(lines), errs)
	}
	from := fmt.Sprint(lines[249].Version)
	if out, _, _ := runCommand(t, "log", "--db", folder, "--from", from); strings.Count(out, "\n") != 2 || !strings.Contains(out, "1 writes     90006 bytes") {
		t.Errorf("from %s: %s", from, out)
	}
}

// TestMeter compares what the meter counts of a check with the size of the folder.
func TestMeter(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	db, err := embedded.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Transact(t.Context(), func(tx kv.Transaction) error {
		for i := range 100 {
			tx.Set(fmt.Appendf(nil, "key %d", i), make([]byte, 10_000))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var last, calls int64
	show := func(read int64) {
		if read < last {
			t.Errorf("%d bytes after %d", read, last)
		}
		last = read
		calls++
	}
	if _, err := embedded.Verify(t.Context(), folder, embedded.Options{FS: newMeter(show)}); err != nil {
		t.Fatal(err)
	}
	if size := folderSize(folder); calls < 2 || last < size/2 || last > size*3 {
		t.Errorf("%d bytes read in %d calls of a folder with %d bytes", last, calls, size)
	}
}
