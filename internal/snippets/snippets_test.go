// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestPages checks all Go code of the README and of docs.
func TestPages(t *testing.T) {
	pages := readPages(t)
	checker, err := Load(root, pages...)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, page := range pages {
		blocks += len(page.Blocks)
		for _, fault := range checker.Check(page) {
			t.Error(fault)
		}
	}
	if blocks < 15 {
		t.Errorf("the pages have %d blocks of Go code", blocks)
	}
}

func readPages(t *testing.T) (pages []*Page) {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "site/index.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "*/PROMISES.md", "cmd/*/PROMISES.md", "examples/*/README.md", "kv/embedded/testdata/engine/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			paths = append(paths, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
	}
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, Parse(path, string(text)))
	}
	return pages
}

// TestFaults checks that faults are found, and where.
func TestFaults(t *testing.T) {
	const prelude = "<!-- prelude\nvar ctx context.Context; var engine kv.Database\n-->\n"
	checker, err := Load(root, Parse("a.md", prelude+"```go\ndb, err := persistable.Open(ctx, engine); _ = time.Time{}\n```"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, fault string }{
		{"a right statement", "```go\ndb, err := persistable.Open(ctx, engine)\n```", ""},
		{"a right declaration", "```go\nfunc now() time.Time { return time.Now() }\n```", ""},
		{"left out", "```go\nfor {\n\t…\n}\n```", ""},
		{"another language", "```console\n$ go build\n```", ""},
		{"a reason", "<!-- not compiled: an example of a syntax error -->\n```go\nfunc {\n```", ""},
		{"a method that is not there", "```go\n\ndb, err := persistable.Opens(ctx, engine)\n```", "a.md:6: undefined: persistable.Opens"},
		{"a wrong type", "```go\nvar t time.Time = 1\n```", "a.md:5: cannot use 1"},
		{"no Go", "```go\nx := := 1\n```", "a.md:5: expected operand"},
		{"an excerpt", "<!-- from: examples/quickstart/order.go -->\n```go\n// The states of an order.\nconst Pending, Paid, Shipped OrderStatus = 0, 1, 2\n```", ""},
		{"an excerpt that was changed", "<!-- from: examples/quickstart/order.go -->\n```go\n// OrderStatus is how far an order has come. Records have its number.\ntype OrderStatus int\n\ntype OrderStatus string\n```", "a.md:9: this is not in examples/quickstart/order.go:\ntype OrderStatus string"},
		{"a part of a line", "<!-- from: examples/quickstart/order.go -->\n```go\ntype OrderStatus\n```", "a.md:6: this is not in"},
		{"a comment far from its block", "<!-- from: examples/quickstart/order.go -->\nText.\n```go\nx := := 1\n```", "a.md:7: expected operand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := Parse("a.md", prelude+c.text)
			got := strings.Join(checker.Check(page), "\n")
			if (got == "") != (c.fault == "") || !strings.Contains(got, c.fault) {
				t.Errorf("faults: %q, want %q", got, c.fault)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	const text = "`go x 1` and `go x 2`.\n\n<!-- run -->\n| `go y 1`, `go y PATH`, `go y …`, `rm y` |\n| `go y 2` |\n\n`go z`\n" +
		"```sh\ngo a 'b c' # comment\n\ngo d \\\n  e\n```\n<!-- not run: it serves -->\n```console\n$ go f\nserving\n$ go g\n```\n```console\n$ go h\none\ntwo\n```\n"
	want := []Command{
		{Line: 1, Text: "go x 1"},
		{Line: 1, Text: "go x 2"},
		{Line: 4, Text: "go y 1", Run: true},
		{Line: 4, Text: "go y PATH"},
		{Line: 4, Text: "go y …"},
		{Line: 5, Text: "go y 2", Run: true},
		{Line: 7, Text: "go z"},
		{Line: 9, Text: "go a 'b c' # comment", Run: true},
		{Line: 11, Text: "go d \\\n  e", Run: true},
		{Line: 16, Text: "go f", Output: "serving\n", Reason: "it serves"},
		{Line: 18, Text: "go g", Reason: "it serves"},
		{Line: 21, Text: "go h", Output: "one\ntwo\n", Run: true},
	}
	if got := Parse("a.md", text).Commands("go"); !slices.Equal(got, want) {
		t.Errorf("commands: %+v\nwant %+v", got, want)
	}
}
