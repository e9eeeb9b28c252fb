// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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

// Checker checks pages of a repository.
type Checker struct {
	root    string
	exports map[string]string // the files of export data, by import path
	fset    *token.FileSet
	types   types.Importer
}

// Load returns a checker that knows the packages which the pages use.
func Load(root string, pages ...*Page) (*Checker, error) {
	c := &Checker{root: root, exports: map[string]string{}, fset: token.NewFileSet()}
	c.types = importer.ForCompiler(c.fset, "gc", c.open)
	paths := map[string]bool{}
	for _, p := range pages {
		for _, b := range p.Blocks {
			if file, err := parseBlock(c.fset, p.Path, b); err == nil {
				for _, spec := range file.Imports {
					path, _ := strconv.Unquote(spec.Path.Value)
					paths[path] = true
				}
			}
		}
	}
	return c, c.list(paths)
}

// list asks the go command, once, for the export data of packages and of all that these import.
func (c *Checker) list(paths map[string]bool) error {
	if len(paths) == 0 {
		return nil
	}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for path := range paths {
		args = append(args, path)
	}
	var out, complaint bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.root, &out, &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go list: %w: %s", err, complaint.String())
	}
	for line := range strings.Lines(out.String()) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		c.exports[path] = file
	}
	return nil
}

func (c *Checker) open(path string) (io.ReadCloser, error) {
	file, ok := c.exports[path]
	if !ok {
		return nil, fmt.Errorf("package %s is not loaded", path)
	}
	return os.Open(file)
}

// Check returns the faults of a page, each with file and line.
func (c *Checker) Check(p *Page) (faults []string) {
	for _, b := range p.Blocks {
		switch {
		case b.NotCompiled != "":
		case b.From != "":
			faults = append(faults, c.compare(p, b)...)
		default:
			faults = append(faults, c.checkTypes(p, b)...)
		}
	}
	return faults
}

// checkTypes returns the faults of a block that is not an excerpt.
func (c *Checker) checkTypes(p *Page, b Block) (faults []string) {
	file, err := parseBlock(c.fset, p.Path, b)
	if err != nil {
		return []string{err.Error()}
	}
	config := types.Config{Importer: c.types, Error: func(err error) {
		if fault, ok := err.(types.Error); !ok || !fault.Soft { // soft: a variable or an import is not used
			faults = append(faults, err.Error())
		}
	}}
	_, _ = config.Check("p", c.fset, []*ast.File{file}, nil) // its error is the first fault
	return faults
}

// compare returns a fault for each paragraph of a block that is not in its program. The tutorial's
// reader has a module of another name.
func (c *Checker) compare(p *Page, b Block) (faults []string) {
	program, err := os.ReadFile(filepath.Join(c.root, b.From))
	if err != nil {
		return []string{fmt.Sprintf("%s:%d: %v", p.Path, b.Line, err)}
	}
	source := inTutorial.Replace(string(program))
	line := b.Line
	for part := range strings.SplitSeq(b.Code, "\n\n") {
		if !strings.Contains("\n"+source, "\n"+strings.Trim(part, "\n")+"\n") {
			faults = append(faults, fmt.Sprintf("%s:%d: this is not in %s:\n%s", p.Path, line, b.From, part))
		}
		line += strings.Count(part, "\n") + 2
	}
	return faults
}

// inTutorial replaces the names of packages by those that the tutorial's reader gives them.
var inTutorial = strings.NewReplacer(
	module+"examples/helpdesk/first", "example.com/helpdesk",
	module+"examples/helpdesk", "example.com/helpdesk",
)

// parseBlock completes a block to a file, and parses it. Positions are those of the page.
func parseBlock(fset *token.FileSet, page string, b Block) (*ast.File, error) {
	code := strings.ReplaceAll(b.Code, "…", "")
	at := fmt.Sprintf("//line %s:%d\n", path.Base(page), b.Line) // relative to the page's folder
	as := func(begin, end string) (*ast.File, error) {
		file, err := parser.ParseFile(fset, page, "package p\n"+b.Prelude+"\n"+begin+"\n"+at+code+"\n"+end, 0)
		if err != nil {
			return nil, err
		}
		return importNames(fset, page, "package p\n", b.Prelude+"\n"+begin+"\n"+at+code+"\n"+end, file)
	}
	if file, err := as("", ""); err == nil {
		return file, nil
	}
	return as("func _() error {", "return nil\n}")
}

// importNames parses a file again with imports of the packages that it uses by their names.
func importNames(fset *token.FileSet, page, clause, rest string, file *ast.File) (*ast.File, error) {
	imports := map[string]bool{}
	for _, name := range file.Unresolved {
		if path := packagePath(name.Name); path != "" && !declares(file, name.Name) {
			imports[fmt.Sprintf("import %s %q;", name.Name, path)] = true
		}
	}
	return parser.ParseFile(fset, page, clause+strings.Join(slices.Sorted(maps.Keys(imports)), "")+rest, 0)
}

// declares reports whether a file imports a package under a name.
func declares(file *ast.File, name string) bool {
	return slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Name != nil && spec.Name.Name == name })
}

const module = "github.com/kazahana-db/kazahana/"

// packages are those with a name other than the last element of a path of the standard library.
var packages = map[string]string{
	"chinook": module + "examples/chinook", "desk": module + "examples/helpdesk/desk", "dynamic": module + "persistable/dynamic",
	"embedded": module + "kv/embedded", "fdbkv": module + "kv/fdbkv", "host": module + "placement/host",
	"idgen": module + "idgen", "kv": module + "kv", "lease": module + "lease", "leasefdb": module + "leasefdb",
	"leasehttp": module + "lease/http", "persistable": module + "persistable", "persistableotel": module + "persistable/persistableotel",
	"persistabletest": module + "persistable/persistabletest", "directory": module + "directory", "tuple": module + "tuple",
	"quickstart": module + "examples/quickstart", "studio": module + "persistable/studio", "tenants": module + "persistable/tenants",
	"shop": module + "examples/shop/v1",
}

var standard = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "io": "io", "iter": "iter", "log": "log",
	"os": "os", "slog": "log/slog", "strings": "strings", "testing": "testing", "time": "time",
}

// packagePath returns the path of the package that code calls by a name, or "".
func packagePath(name string) string {
	if path := packages[name]; path != "" {
		return path
	}
	return standard[name]
}
