// SPDX-License-Identifier: Apache-2.0

package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source has a form of each thing that a package can export, and what users do not see.
const source = `
const Limit, hidden = 10, 11
const Code ErrorCode = 1510
type ErrorCode int
func (c ErrorCode) Error() string { return "" }
var Default, other *Options
func Open(name string, more ...Options) (db *DB, err error) { return nil, nil }
func Map[T any, R comparable](all []T, f func(T) R) []R { return nil }
type Options struct {
	Name  string
	Each  func(name string, at int) (again bool)
	spare []int
	embedded
	Shared
}
type embedded struct{ Size int }
type Shared struct{ ID int }
func (*Shared) Reset() {}
type DB struct{ n int }
func (d *DB) Close() error { return nil }
func (d DB) Len() int      { return 0 }
func (d *DB) hide()        {}
type Engine interface { Get(key []byte) []byte; Close() error }
type Closed interface { Close() error; sealed() }
type Number interface { ~int | ~float64 }
type List[T Number] struct{ All []T }
type Name = string
type Visit func(name string) bool
`

var want = []string{
	"const Code p.ErrorCode = 1510",
	"const Limit untyped int = 10",
	"func Map[T any, R comparable](all []T, f func(T) R) []R",
	"func Open(string, ...p.Options) (*p.DB, error)",
	"method (*DB) Close() error",
	"method (*Options) Reset()",
	"method (*Shared) Reset()",
	"method (DB) Len() int",
	"method (ErrorCode) Error() string",
	"type Closed interface, Close() error",
	"type Closed interface, with methods that are not exported",
	"type DB struct",
	"type DB struct, comparable",
	"type Engine interface { Close, Get }",
	"type Engine interface, Close() error",
	"type Engine interface, Get([]byte) []byte",
	"type ErrorCode int",
	"type List[T p.Number] struct",
	"type List[T p.Number] struct, All []T",
	"type Name = string",
	"type Number interface{~int | ~float64}",
	"type Options struct",
	"type Options struct, Each func(string, int) bool",
	"type Options struct, Name string",
	"type Options struct, Size int",
	"type Options struct, embedded p.Shared",
	"type Shared struct",
	"type Shared struct, ID int",
	"type Shared struct, comparable",
	"type Visit func(string) bool",
	"var Default *p.Options",
}

func listOf(t *testing.T, source string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{}).Check(module+"/p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := list(pkg)
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "pkg p, ")
	}
	return lines
}

func TestListing(t *testing.T) {
	if diff := cmp.Diff(want, listOf(t, source)); diff != "" {
		t.Error(diff)
	}
}

// TestChanges changes source. A change that can break a program takes a line away, another one takes none.
func TestChanges(t *testing.T) {
	for _, c := range []struct {
		from, to string
		breaks   bool
	}{
		{"name string, more", "path string, more", false},
		{"Name  string", "Name  string\n\tAge int", false},
		{"hidden = 10, 11", "hidden = 10, 12", false},
		{"sealed()", "sealed(); Sync() error", false},
		{"type Name = string", "type Name = string\nfunc New() {}", false},
		{"Limit, hidden = 10", "Limit, hidden = 20", true},
		{"Close() error }", "Close() error; Sync() error }", true},
		{"Close() error; sealed()", "Close(); sealed()", true},
		{"more ...Options", "more []Options", true},
		{"type DB struct{ n int }", "type DB struct{ n []int }", true},
		{"(d DB) Len", "(d *DB) Len", true},
		{"Size int", "size int", true},
		{"~int |", "~int8 |", true},
		{"func (c ErrorCode) Error() string { return \"\" }", "", true},
		{"R comparable", "R any", true},
	} {
		if !strings.Contains(source, c.from) {
			t.Fatalf("the source has no %q", c.from)
		}
		after := listOf(t, strings.Replace(source, c.from, c.to, 1))
		lost := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(after, line) })
		if len(lost) > 0 != c.breaks {
			t.Errorf("%q instead of %q takes these lines away: %q", c.to, c.from, lost)
		}
	}
}

// TestFaults gives records to the comparison that do not agree with what is exported.
func TestFaults(t *testing.T) {
	now := []string{"a", "b", "c"}
	for _, c := range []struct {
		name                     string
		released, next, excepted []string
		comment                  string
		want                     string // of the only fault
	}{
		{name: "before a release", next: now},
		{name: "after it", released: []string{"a"}, next: []string{"b", "c"}},
		{name: "an accepted change", released: []string{"a", "z"}, next: []string{"b", "c"}, excepted: []string{"z"}, comment: "# unused"},
		{name: "a change", released: []string{"a", "z"}, next: []string{"b", "c"}, want: "not true any more"},
		{name: "no reason", released: []string{"a", "z"}, next: []string{"b", "c"}, excepted: []string{"z"}, want: "no comment"},
		{name: "a reason too far above", released: []string{"a", "z"}, next: []string{"b", "c"}, excepted: []string{"", "z"}, comment: "# unused", want: "no comment"},
		{name: "no change", released: []string{"a"}, next: []string{"b", "c"}, excepted: []string{"a"}, comment: "# unused", want: "the line is true"},
		{name: "no release", released: []string{"a"}, next: []string{"b", "c"}, excepted: []string{"y"}, comment: "# unused", want: "no release has this"},
		{name: "an addition", released: []string{"a"}, next: []string{"b"}, want: "lacks a line"},
		{name: "stale", released: []string{"a"}, next: []string{"b", "c", "d"}, want: "not exported"},
		{name: "released twice", released: []string{"a"}, next: now, want: "a release has"},
	} {
		r := &record{released: map[string]string{}, next: c.next, why: map[string]bool{}}
		for _, line := range c.released {
			r.released[line] = "v0.1.0.txt"
		}
		r.readExcepted(append([]string{c.comment}, c.excepted...))
		got := strings.Join(r.faults(now), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
