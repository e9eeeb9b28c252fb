// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"slices"
	"strings"
	"testing"
)

func house(t *testing.T) []*File {
	t.Helper()
	files, err := Load("testdata/house")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCount(t *testing.T) {
	want := Counts{
		Methods: 5, Away: 1, // Away; not that of a test
		OneWord: 3, Unexported: 4, // open, read, value; not closeTwice
		Types: 8, Participles: 4, // reading, clockReading, held, failing
		Sentences: 11, Vague: 1,
	}
	if got := Count(house(t)); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestPositions(t *testing.T) {
	for _, m := range Methods(WithoutTests(house(t))) {
		if m.Away && (m.Name != "Away" || m.String() != "other.go:16") {
			t.Errorf("the method away from its type is %s at %v", m.Name, m.Position)
		}
	}
	for _, s := range Sentences(house(t)) {
		if s.Vague && (s.Text != "Nobody calls it" || s.String() != "lock_file.go:11") {
			t.Errorf("the vague sentence is %q at %v", s.Text, s.Position)
		}
	}
}

func TestLengths(t *testing.T) {
	files := house(t)
	if got := Percentile(FileLengths(files), 100); got != 18 {
		t.Errorf("the longest file has %d lines, want 18", got)
	}
	if got := Percentile(FunctionLengths(files), 100); got != 1 {
		t.Errorf("the longest function has %d lines, want 1", got)
	}
	lengths := []Length{{Lines: 3}, {Lines: 1}, {Lines: 2}}
	for p, want := range map[int]int{0: 1, 50: 2, 99: 2, 100: 3} {
		if got := Percentile(lengths, p); got != want {
			t.Errorf("percentile %d is %d, want %d", p, got, want)
		}
	}
	if got := Percentile(nil, 50); got != 0 {
		t.Errorf("a percentile of nothing is %d", got)
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"open": {"open"}, "openRead": {"open", "read"}, "DBKeys": {"db", "keys"}, "keysOfDB": {"keys", "of", "db"}, "A": {"a"},
	} {
		if got := words(name); !slices.Equal(got, want) {
			t.Errorf("words of %s: %q, want %q", name, got, want)
		}
	}
}

// TestBounds counts in five files of one type, and in comments with the words and with plain uses of them.
func TestBounds(t *testing.T) {
	files, err := Load("testdata/spread")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, b := range Bounds(files) {
		got[b.Name] = b.Value
		if b.Where != nil && strings.Contains(b.Name, "comments") {
			got[b.Name] = len(b.Where)
		}
	}
	for name, want := range map[string]int{
		"whose in 52,000 lines of comments": 1, "behind in 52,000 lines of comments": 1, "beside in 52,000 lines of comments": 0,
		"meanwhile in 52,000 lines of comments": 1, "is no in 52,000 lines of comments": 1, ", also if in 52,000 lines of comments": 1,
		"files": 5, "packages": 1, "public packages": 1, "exported types of public packages": 2, "exported error types of public packages": 1,
		"types with methods in more than four files": 1, "folders with more than 20 files": 0, "files over 450 lines": 0,
		"lines of code without examples": 12,
	} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}

func TestBoundMet(t *testing.T) {
	for b, want := range map[*Bound]bool{{Value: 3, Most: 3}: true, {Value: 4, Most: 3}: false, {Value: 4, Most: -1}: true} {
		if b.Met() != want {
			t.Errorf("%d of at most %d: met is %v", b.Value, b.Most, b.Met())
		}
	}
}

// TestCountCode: lines of code have a token; a string of three lines counts three times.
func TestCountCode(t *testing.T) {
	for source, want := range map[string]int{
		"package a\n": 1, "// a\npackage a // b\n\n/* c\nd */\n": 1, "package a\n\nvar b, c = `1\n2\n3`, 4\n": 4, "": 0,
	} {
		if got := countCode([]byte(source)); got != want {
			t.Errorf("%q has %d lines of code, want %d", source, got, want)
		}
	}
}
