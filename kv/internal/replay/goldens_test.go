// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/naive"
	"github.com/kazahana-db/kazahana/kv/internal/play"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// missingVariable makes the test process replay the traces of a folder.
const missingVariable = "KAZAHANA_TEST_MISSING"

// TestMissingRecordingFails replays, in processes of their own, folders that each
// lack one trace: with and without CI=true the process must fail and name it. The
// scenarios themselves are left out by -run.
func TestMissingRecordingFails(t *testing.T) {
	if dir := os.Getenv(missingVariable); dir != "" {
		Goldens(t, naive.Open, dir)
		return
	}
	for _, missing := range goldenFiles {
		dir := folderWithout(t, missing)
		for _, ci := range []string{"true", ""} {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestMissingRecordingFails$/^none$")
			cmd.Env = append(os.Environ(), missingVariable+"="+dir, "CI="+ci)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "there is no trace "+missing+" in") {
				t.Errorf("CI=%q, without %s: %v\n%s", ci, missing, err, out)
			}
		}
	}
}

// folderWithout returns a folder with all traces but one.
func folderWithout(t *testing.T, missing string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range recordings(t) {
		if goldens.Name(path) == missing {
			continue
		}
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestEveryRecordingIsReplayed checks that no trace of the repository is left out,
// and that all together are below a megabyte.
func TestEveryRecordingIsReplayed(t *testing.T) {
	size := int64(0)
	for _, path := range recordings(t) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		name := goldens.Name(path)
		if elsewhere := []string{"directory", "tuple"}; !slices.Contains(goldenFiles, name) && !slices.Contains(elsewhere, name) {
			t.Errorf("no test replays %s: add it to goldenFiles", path)
		}
	}
	if size > 1_000_000 {
		t.Errorf("the traces have %d bytes", size)
	}
}

// recordings returns the paths of the repository's traces.
func recordings(t *testing.T) []string {
	t.Helper()
	dir, err := filepath.Abs("../../../internal/goldens/testdata")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := goldens.Glob(dir, "*")
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// The naive engine is right about atomic operations, and nearly right about the
// rest: its conflict ranges are a little simpler than FoundationDB's.
func TestReplayOnTheNaiveEngine(t *testing.T) {
	for name, most := range map[string]int{"atomics": 0, "ryw": 40, "conflicts": 140} {
		if sum := replayAll(t, name, naive.Open(t)); sum.total > most {
			t.Errorf("%s: %s", name, sum.String())
		}
	}
}

// faultyGoldens are wrong engines and a recording that each contradicts.
var faultyGoldens = map[string]string{
	"no read conflicts":       "conflicts",
	"no phantoms":             "conflicts",
	"absent keys are empty":   "ryw",
	"additions conflict":      "conflicts",
	"cleared ranges stay":     "ryw",
	"snapshot reads conflict": "conflicts",
	"writes are reads":        "conflicts",
}

func TestReplayNoticesWrongEngines(t *testing.T) {
	onRight := map[string]*tally{} // by recording, since several engines are wrong about the same one
	for fault, golden := range faultyGoldens {
		t.Run(fault, func(t *testing.T) {
			sum := replayAll(t, golden, naive.OpenFaulty(t, fault))
			right := onRight[golden]
			if right == nil {
				right = replayAll(t, golden, naive.Open(t))
				onRight[golden] = right
			}
			if sum.total <= right.total || sum.total == sum.run {
				t.Errorf("%d of %d scenarios differ, %d on the right engine", sum.total, sum.run, right.total)
			}
			if text := sum.String(); !strings.Contains(text, "scenarios differ") || !strings.Contains(text, "want") {
				t.Errorf("the summary says nothing: %s", text)
			}
		})
	}
}

// replayAll replays a recording without failing the test.
func replayAll(t *testing.T, name string, db kv.Database) *tally {
	t.Helper()
	scenarios, err := scenario.Decode(goldens.Trace(t, name), name)
	if err != nil {
		t.Fatal(err)
	}
	var sum tally
	for i := range scenarios {
		sum.run++
		sum.add(play.Run(t.Context(), db, &scenarios[i]))
	}
	return &sum
}

// replayLine replays one scenario that is given as text.
func replayLine(t *testing.T, db kv.Database, line string) []scenario.Difference {
	t.Helper()
	path := filepath.Join(t.TempDir(), "line.jsonl")
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := scenario.Read(path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	differences, err := play.Run(t.Context(), db, &all[0])
	if err != nil {
		t.Fatal(err)
	}
	return differences
}

const stampScenario = `{"name":"x/stamp","kind":"x","seed":1,"setup":[["61","41"]],"steps":[
	{"tx":0,"op":"begin","grv":true,"want":{}},
	{"tx":0,"op":"atomic","key":"6c0000000000000000000001000000","mutation":"set_versionstamped_key","value":"76","want":{}},
	{"tx":0,"op":"commit","want":{}},
	{"tx":1,"op":"begin","want":{}},
	{"tx":1,"op":"get","key":["6c",{"vs":0}],"want":{"value":"76"}},
	{"tx":1,"op":"get_range","begin":{"key":"6c","offset":1},"end":{"key":"6d","offset":1},"mode":"iterator","want":{"kvs":[[["6c",{"vs":0}],"76"]]}}
	],"final":[["61","41"],[["6c",{"vs":0}],"76"]]}`

func TestReplayLearnsStamps(t *testing.T) {
	db := naive.Open(t)
	for range 2 { // the second run must not see the first
		if diff := cmp.Diff([]scenario.Difference(nil), replayLine(t, db, stampScenario), cmp.AllowUnexported(scenario.Difference{})); diff != "" {
			t.Errorf("differences (-want +got):\n%s", diff)
		}
	}
}

func TestReplayTellsWhatDiffers(t *testing.T) {
	db := naive.Open(t)
	for _, tt := range []struct {
		name, step, final string
		want              []string
	}{
		{"a value", `{"tx":0,"op":"get","key":"61","want":{"value":"42"}}`, `[["61","41"]]`, []string{`step 1 tx 0: get("a")`, `want value "B"`, `got  value "A"`}},
		{"an error that did not come", `{"tx":0,"op":"commit","want":{"error":1020}}`, `[["61","41"]]`, []string{"want error 1020", "got  no error"}},
		{"an unexpected error", `{"tx":0,"op":"get_range","begin":{"key":"61"},"end":{"key":"62"},"mode":"exact","want":{"kvs":[]}}`, `[["61","41"]]`, []string{"mode exact", "want 0 pairs", "got  error 2210"}},
		{"the contents", `{"tx":0,"op":"sleep","want":{}}`, `[]`, []string{"final contents", "want 0 pairs", `got  1 pairs {"a"="A"}`}},
		{"an operation that nobody knows", `{"tx":0,"op":"jump","want":{}}`, `[["61","41"]]`, []string{`does not know the operation "jump"`}},
		{"a transaction that was not begun", `{"tx":3,"op":"commit","want":{}}`, `[["61","41"]]`, []string{"transaction 3 was not begun"}},
		{"a stamp that was never made", `{"tx":0,"op":"get","key":[{"vs":5}],"want":{"value":null}}`, `[["61","41"]]`, []string{"commit 0 of transaction 5"}},
	} {
		line := `{"name":"x/y","kind":"x","seed":1,"setup":[["61","41"]],"steps":[{"tx":0,"op":"begin","want":{}},` + tt.step + `],"final":` + tt.final + `}`
		differences := replayLine(t, db, line)
		if len(differences) != 1 {
			t.Errorf("%s: %d differences, want 1: %v", tt.name, len(differences), differences)
			continue
		}
		for _, part := range tt.want {
			if got := differences[0].String(); !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", tt.name, got, part)
			}
		}
	}
}

func TestTallySumsUp(t *testing.T) {
	var sum tally
	sum.run = 4
	sum.add(nil, nil)
	conflict := []scenario.Difference{{Step: 3, Op: "tx 0: commit()", Want: "no error", Got: "error 1020 (x)"}}
	sum.add(conflict, nil)
	sum.add(conflict, nil)
	sum.add(nil, errors.New("cannot begin"))
	want := "3 of 4 scenarios differ; first differences:\n" +
		"     2 × commit: want no error, got error 1020\n" +
		"     1 × cannot run"
	if diff := cmp.Diff(want, sum.String()); diff != "" {
		t.Errorf("summary mismatch (-want +got):\n%s", diff)
	}
}
