// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/play"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

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
