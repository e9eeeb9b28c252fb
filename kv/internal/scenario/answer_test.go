// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/model"
)

func TestWrittenAnswersReadTheSame(t *testing.T) {
	known := Stamps{{1, 0}: []byte("0123456789"), {2, 1}: []byte("abcdefghij")}
	mixed := []byte("k0123456789\x00abcdefghij" + strings.Repeat("y", 100))
	for _, a := range []Answer{
		{},
		{Kind: "error", Code: 1020},
		{Kind: "value"},
		{Kind: "value", Bytes: []byte{}},
		{Kind: "value", Bytes: mixed},
		{Kind: "key", Bytes: bytes.Repeat([]byte("x"), 10_000)},
		{Kind: "kvs"},
		{Kind: "kvs", KVs: []kv.KeyValue{{Key: mixed, Value: []byte{}}, {Key: []byte("b"), Value: mixed}}},
		{Kind: "ranges", Read: []kv.KeyRange{{Begin: []byte{}, End: mixed}}, Write: []kv.KeyRange{model.Span("a", "b")}},
		{Kind: "versionstamp", Bytes: []byte("abcdefghij")},
		{Kind: "fired", Flag: true},
		{Kind: "ready"},
		{Kind: "version", N: -1},
		{Kind: "size", N: 5},
	} {
		got, err := ParseAnswer(a.Wanted(known), known)
		if err != nil || !got.Equal(a) {
			t.Errorf("%s becomes %s (%v), written as %s", a.Show(known), got.Show(known), err, a.Wanted(known))
		}
	}
}

func TestStampsAreComparedByName(t *testing.T) {
	one, other := Stamps{{1, 0}: []byte("0123456789")}, Stamps{{1, 0}: []byte("abcdefghij")}
	a, b := Answer{Kind: "value", Bytes: []byte("<0123456789>")}, Answer{Kind: "value", Bytes: []byte("<abcdefghij>")}
	if a.Equal(b) || !a.Named(one).Equal(b.Named(other)) || a.Named(other).Equal(b.Named(other)) {
		t.Error("only with its own stamps replaced is an answer the same")
	}
}

func TestTextParts(t *testing.T) {
	known := Stamps{{2, 0}: []byte("0123456789"), {2, 1}: []byte("abcdefghij")}
	for _, tt := range []struct{ text, want string }{
		{`""`, ""},
		{`"6162"`, "ab"},
		{`{"rep":"61","times":3}`, "aaa"},
		{`["6b",{"rep":"00","times":2},"6b"]`, "k\x00\x00k"},
		{`["6b",{"vs":2},"00"]`, "k0123456789\x00"},
		{`[{"vs":2,"n":1}]`, "abcdefghij"},
	} {
		var parsed Text
		err := json.Unmarshal([]byte(tt.text), &parsed)
		if err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		got, err := parsed.Bytes(known)
		if string(got) != tt.want || err != nil || got == nil {
			t.Errorf("%s = %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
	var unknown Text
	if err := json.Unmarshal([]byte(`[{"vs":7}]`), &unknown); err != nil {
		t.Fatal(err)
	}
	if _, err := unknown.Bytes(known); err == nil {
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
		want Answer
	}{
		{`{}`, Answer{}},
		{`{"error":1020}`, Answer{Kind: "error", Code: 1020}},
		{`{"value":null}`, Answer{Kind: "value"}},
		{`{"value":""}`, Answer{Kind: "value", Bytes: []byte{}}},
		{`{"key":"ff"}`, Answer{Kind: "key", Bytes: []byte{0xff}}},
		{`{"kvs":[["61","62"]]}`, Answer{Kind: "kvs", KVs: []kv.KeyValue{{Key: []byte("a"), Value: []byte("b")}}}},
		{`{"kvs":[]}`, Answer{Kind: "kvs"}},
		{`{"read":[["61","62"]],"write":[]}`, Answer{Kind: "ranges", Read: []kv.KeyRange{model.Span("a", "b")}}},
		{`{"fired":false}`, Answer{Kind: "fired"}},
		{`{"fired":true}`, Answer{Kind: "fired", Flag: true}},
		{`{"ready":true}`, Answer{Kind: "ready", Flag: true}},
		{`{"version":-1}`, Answer{Kind: "version", N: -1}},
		{`{"size":5}`, Answer{Kind: "size", N: 5}},
		{`{"versionstamp":"61"}`, Answer{Kind: "versionstamp", Bytes: []byte("a")}},
	} {
		got, err := ParseAnswer(json.RawMessage(tt.text), nil)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%s = %s, %v, want %s", tt.text, got.Show(nil), err, tt.want.Show(nil))
		}
	}
}

// Every pair of different answers must be told apart.
func TestAnswersDiffer(t *testing.T) {
	all := []Answer{
		{},
		ErrorAnswer(kv.NewError(1020, "")),
		ErrorAnswer(kv.NewError(1007, "")),
		{Kind: "value"},
		{Kind: "value", Bytes: []byte{}},
		{Kind: "value", Bytes: []byte("a")},
		{Kind: "key", Bytes: []byte("a")},
		{Kind: "kvs"},
		{Kind: "kvs", KVs: []kv.KeyValue{{Key: []byte("a")}}},
		{Kind: "kvs", KVs: []kv.KeyValue{{Key: []byte("a"), Value: []byte("b")}}},
		{Kind: "ranges", Read: []kv.KeyRange{model.Span("a", "b")}},
		{Kind: "ranges", Write: []kv.KeyRange{model.Span("a", "b")}},
		{Kind: "fired"},
		{Kind: "fired", Flag: true},
		{Kind: "ready"},
		{Kind: "version", N: 1},
		{Kind: "size", N: 1},
	}
	for i, a := range all {
		for j, b := range all {
			if a.Equal(b) != (i == j) {
				t.Errorf("%s equals %s: %t", a.Show(nil), b.Show(nil), a.Equal(b))
			}
		}
	}
	if foreign := ErrorAnswer(errors.New("hangs")); foreign.Equal(foreign) {
		t.Error("an error without a code counts as what was wanted")
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
	known := Stamps{{1, 0}: []byte("0123456789")}
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
