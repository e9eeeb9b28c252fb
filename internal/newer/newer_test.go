// SPDX-License-Identifier: Apache-2.0

package newer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/tuple"
)

// checkNewer checks that an error is an Err that says some words and nothing of backups.
func checkNewer(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, newer.Err) {
		t.Errorf("%v is no Err", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "backup") {
		t.Errorf("%q speaks of a backup", err)
	}
}

// TestReadFormat: a tuple of a known format is read, one of a newer format names the version
// to run, and damage is not called newer.
func TestReadFormat(t *testing.T) {
	pack := func(elements ...any) []byte {
		b, err := tuple.Tuple(elements).Pack()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	rest, err := newer.ReadFormat(pack(2, "rest"), 2)
	if err != nil || string(rest) != string(pack("rest")) {
		t.Errorf("a known format: %x, %v", rest, err)
	}
	for text, value := range map[string][]byte{
		"run version v7.0.0 or later":                         pack(9, "v7.0.0", 1),
		"run that version or a later one":                     pack(9, 1),
		"of format 3, and this program knows formats up to 2": pack(3),
	} {
		_, err := newer.ReadFormat(value, 2)
		checkNewer(t, err, text)
	}
	for _, value := range [][]byte{nil, {0xff}, pack("text"), pack(0), pack(-1)} {
		if _, err := newer.ReadFormat(value, 2); err == nil || errors.Is(err, newer.Err) {
			t.Errorf("the value %x: %v", value, err)
		}
	}
}

// TestNeeds: programs refuse features that they do not know; they read those that they may
// pass over. The error names the features, and the latest version.
func TestNeeds(t *testing.T) {
	if err := errors.Join(newer.CheckRead(nil), newer.CheckWrite(nil)); err != nil {
		t.Error(err)
	}
	both := newer.ParseNeeds([]string{"fold v0.9.0", "enum v0.10.0 read"})
	checkNewer(t, newer.CheckRead(both), "it needs fold, which", "run version v0.9.0 or later")
	checkNewer(t, newer.CheckWrite(both), "it needs fold, enum, which", "run version v0.10.0 or later")
	if err := newer.CheckRead(both[1:]); err != nil {
		t.Errorf("what may be read: %v", err)
	}
	if text := both[0].Text() + "," + both[1].Text(); text != "fold v0.9.0,enum v0.10.0 read" {
		t.Error(text)
	}
	later := newer.ParseNeeds([]string{"a need of another form"})
	checkNewer(t, newer.CheckRead(later), "a need of another form", "run that version or a later one")
	for _, words := range []string{"", "fold", "fold 1", "fold v1", "fold v0.1.0 write", "fold v0.1.0 read twice", "fold v-1.0.0"} {
		if n, ok := newer.ParseNeed(strings.Fields(words)); ok {
			t.Errorf("%q is read as %+v", words, n)
		}
	}
}

// TestReadTuple reads needs as a tuple.
func TestReadTuple(t *testing.T) {
	value := tuple.AppendString(tuple.AppendString(nil, "fold v0.2.0"), "enum v0.3.0 read")
	needs, err := newer.ReadTuple(value)
	if err != nil || len(needs) != 2 || needs[1] != (newer.Need{Name: "enum", Since: "v0.3.0", Read: true}) {
		t.Errorf("%+v, %v", needs, err)
	}
	if needs, err := newer.ReadTuple(nil); err != nil || needs != nil {
		t.Errorf("nothing: %+v, %v", needs, err)
	}
	if _, err := newer.ReadTuple([]byte{0xff}); err == nil || errors.Is(err, newer.Err) {
		t.Errorf("damage: %v", err)
	}
}

// TestUnmarshal: a document with a member that the program does not know, at any depth, is one
// of a newer version; other faults are not.
func TestUnmarshal(t *testing.T) {
	type inner struct {
		B int `json:"b"`
	}
	var known struct {
		A     int     `json:"a"`
		Inner []inner `json:"inner"`
	}
	if err := newer.Unmarshal([]byte(`{"a":1,"inner":[{"b":2}]} `), &known); err != nil || known.A != 1 || known.Inner[0].B != 2 {
		t.Errorf("%+v, %v", known, err)
	}
	checkNewer(t, newer.Unmarshal([]byte(`{"a":1,"c":2}`), &known), `the member "c"`, "run that version or a later one")
	checkNewer(t, newer.Unmarshal([]byte(`{"inner":[{"b":2,"d":0}]}`), &known), `the member "d"`)
	checkNewer(t, newer.Unmarshal([]byte(`{"needs":["roles v0.4.0"],"a":"text"}`), &known), "it needs roles", "run version v0.4.0 or later")
	for _, text := range []string{``, `{`, `{"a":"text"}`, `{"a":1} {}`, `{"a":1}x`, `[]`} {
		if err := newer.Unmarshal([]byte(text), &known); err == nil || errors.Is(err, newer.Err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
