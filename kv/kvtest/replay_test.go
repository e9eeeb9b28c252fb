// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
)

func TestTextParts(t *testing.T) {
	known := stamps{{2, 0}: []byte("0123456789"), {2, 1}: []byte("abcdefghij")}
	for _, tt := range []struct{ text, want string }{
		{`""`, ""},
		{`"6162"`, "ab"},
		{`{"rep":"61","times":3}`, "aaa"},
		{`["6b",{"rep":"00","times":2},"6b"]`, "k\x00\x00k"},
		{`["6b",{"vs":2},"00"]`, "k0123456789\x00"},
		{`[{"vs":2,"n":1}]`, "abcdefghij"},
	} {
		var parsed text
		err := json.Unmarshal([]byte(tt.text), &parsed)
		if err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		got, err := parsed.bytes(known)
		if string(got) != tt.want || err != nil || got == nil {
			t.Errorf("%s = %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
	var unknown text
	if err := json.Unmarshal([]byte(`[{"vs":7}]`), &unknown); err != nil {
		t.Fatal(err)
	}
	if _, err := unknown.bytes(known); err == nil {
		t.Error("a stamp that was not learned has bytes")
	}
	for _, bad := range []string{`"6"`, `["zz"]`, `[{"rep":"q"}]`, `[7]`} {
		if err := json.Unmarshal([]byte(bad), &unknown); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestWantedAnswers(t *testing.T) {
	for _, tt := range []struct {
		text string
		want answer
	}{
		{`{}`, answer{}},
		{`{"error":1020}`, answer{kind: "error", code: 1020}},
		{`{"value":null}`, answer{kind: "value"}},
		{`{"value":""}`, answer{kind: "value", bytes: []byte{}}},
		{`{"key":"ff"}`, answer{kind: "key", bytes: []byte{0xff}}},
		{`{"kvs":[["61","62"]]}`, answer{kind: "kvs", kvs: []kv.KeyValue{{Key: []byte("a"), Value: []byte("b")}}}},
		{`{"kvs":[]}`, answer{kind: "kvs"}},
		{`{"read":[["61","62"]],"write":[]}`, answer{kind: "ranges", read: []kv.KeyRange{span("a", "b")}}},
		{`{"fired":false}`, answer{kind: "fired"}},
		{`{"fired":true}`, answer{kind: "fired", flag: true}},
		{`{"ready":true}`, answer{kind: "ready", flag: true}},
		{`{"version":-1}`, answer{kind: "version", n: -1}},
		{`{"size":5}`, answer{kind: "size", n: 5}},
		{`{"versionstamp":"61"}`, answer{kind: "versionstamp", bytes: []byte("a")}},
	} {
		got, err := parseWant(json.RawMessage(tt.text), nil)
		if err != nil || !got.equal(tt.want) {
			t.Errorf("%s = %s, %v, want %s", tt.text, got.show(nil), err, tt.want.show(nil))
		}
	}
}

// Every pair of different answers must be told apart.
func TestAnswersDiffer(t *testing.T) {
	all := []answer{
		{},
		done(kv.NewError(1020, "")),
		done(kv.NewError(1007, "")),
		{kind: "value"},
		{kind: "value", bytes: []byte{}},
		{kind: "value", bytes: []byte("a")},
		{kind: "key", bytes: []byte("a")},
		{kind: "kvs"},
		{kind: "kvs", kvs: []kv.KeyValue{{Key: []byte("a")}}},
		{kind: "kvs", kvs: []kv.KeyValue{{Key: []byte("a"), Value: []byte("b")}}},
		{kind: "ranges", read: []kv.KeyRange{span("a", "b")}},
		{kind: "ranges", write: []kv.KeyRange{span("a", "b")}},
		{kind: "fired"},
		{kind: "fired", flag: true},
		{kind: "ready"},
		{kind: "version", n: 1},
		{kind: "size", n: 1},
	}
	for i, a := range all {
		for j, b := range all {
			if a.equal(b) != (i == j) {
				t.Errorf("%s equals %s: %t", a.show(nil), b.show(nil), a.equal(b))
			}
		}
	}
	if foreign := done(errors.New("hangs")); foreign.equal(foreign) {
		t.Error("an error without a code counts as what was wanted")
	}
}

// replayLine replays one scenario that is given as text.
func replayLine(t *testing.T, db kv.Database, line string) []difference {
	t.Helper()
	path := filepath.Join(t.TempDir(), "line.jsonl")
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readScenarios(path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	differences, err := runScenario(t.Context(), db, &all[0])
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
	db := openMemory(t)
	for range 2 { // the second run must not see the first
		if diff := cmp.Diff([]difference(nil), replayLine(t, db, stampScenario), cmp.AllowUnexported(difference{})); diff != "" {
			t.Errorf("differences (-want +got):\n%s", diff)
		}
	}
}

func TestReplayTellsWhatDiffers(t *testing.T) {
	db := openMemory(t)
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
	conflict := []difference{{step: 3, op: "tx 0: commit()", want: "no error", got: "error 1020 (x)"}}
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

func TestKindsOfAnswers(t *testing.T) {
	for shown, want := range map[string]string{
		"error 1020 (kv: text (1020))": "error 1020",
		"error: it hangs":              "error: it hangs",
		"no error":                     "no error",
		`value "a b"`:                  "value",
		"value absent":                 "value absent",
		`2 pairs {"a"="b"}`:            "pairs",
		"read {} write {}":             "conflict ranges",
		"size 30":                      "size",
		"fired true":                   "fired true",
	} {
		if got := kindOf(shown); got != want {
			t.Errorf("kindOf(%s) = %s, want %s", shown, got, want)
		}
	}
}

func TestLongBytesAreShownShort(t *testing.T) {
	known := stamps{{1, 0}: []byte("0123456789")}
	for _, tt := range []struct {
		bytes []byte
		want  string
	}{
		{nil, "absent"},
		{[]byte{}, `""`},
		{[]byte("k0123456789\x00"), `"k"‹stamp 1.0›"\x00"`},
		{bytes.Repeat([]byte("x"), 100_000), `"` + strings.Repeat("x", 40) + `"…(100000 bytes)`},
	} {
		if got := showBytes(tt.bytes, known); got != tt.want {
			t.Errorf("showBytes(%.10q) = %s, want %s", tt.bytes, got, tt.want)
		}
	}
}
