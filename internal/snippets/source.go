// SPDX-License-Identifier: Apache-2.0

package snippets

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
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
	"quickstart": module + "examples/quickstart", "tenants": module + "persistable/tenants",
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
