// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/persistvet/internal/api"
)

// TestNames checks that each name by which the analyzers recognise something is declared
// in the real package.
func TestNames(t *testing.T) {
	real := map[string]map[string]string{}
	for _, name := range api.All() {
		if real[name.Package] == nil {
			real[name.Package] = declarations(t, sourceOf(t, name.Package))
		}
		if _, ok := real[name.Package][name.Object]; !ok {
			t.Errorf("%s has no %s: the analyzers do not find what they look for", name.Package, name.Object)
		}
	}
}

// TestStubs checks that the packages for which the tests of analyzers have stubs have
// the functions and methods of the stubs, with the same types.
func TestStubs(t *testing.T) {
	for _, path := range []string{api.KV, api.Directory, api.IDGen, api.Persistable, api.Implement, api.FDB} {
		real := declarations(t, sourceOf(t, path))
		for name, text := range declarations(t, filepath.Join("..", "..", "testdata", "src", filepath.FromSlash(path))) {
			if got, ok := real[name]; !ok || got != text {
				t.Errorf("the stub of %s has\n\t%s %s\nthe package has\n\t%s %s", path, name, text, name, got)
			}
		}
	}
}

// sourceOf returns the folder with the source of a package.
func sourceOf(t *testing.T, path string) string {
	t.Helper()
	if inside, ok := strings.CutPrefix(path, api.Module+"/"); ok {
		return filepath.Join("..", "..", "..", filepath.FromSlash(inside))
	}
	module, inside, _ := strings.Cut(path, "/src/")
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src", filepath.FromSlash(inside))
}

// declarations returns the exported types of a folder's package, with an empty text, and
// its functions and methods with their types, including methods of interfaces. The key of
// a method is the name of its type, a dot and its own name.
func declarations(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no source: %v", dir, err)
	}
	found := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declare(found, d)
		}
	}
	return found
}

func declare(found map[string]string, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			found[d.Name.Name] = typeText(d.Type)
		} else {
			found[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = typeText(d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if spec, ok := s.(*ast.TypeSpec); ok {
				found[spec.Name.Name] = ""
				declareMethods(found, spec)
			}
		}
	}
}

// declareMethods adds the methods of an interface.
func declareMethods(found map[string]string, spec *ast.TypeSpec) {
	i, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	for _, m := range i.Methods.List {
		if f, ok := m.Type.(*ast.FuncType); ok {
			found[spec.Name.Name+"."+m.Names[0].Name] = typeText(f)
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// typeText returns the types of a function's parameters and results, without names.
func typeText(f *ast.FuncType) string {
	return "func(" + typesText(f.Params) + ") (" + typesText(f.Results) + ")"
}

func typesText(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	var all []string
	for _, field := range fields.List {
		for range max(1, len(field.Names)) {
			all = append(all, text(field.Type))
		}
	}
	return strings.Join(all, ", ")
}

func text(e ast.Expr) string {
	if f, ok := e.(*ast.FuncType); ok {
		return typeText(f)
	}
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return err.Error()
	}
	return strings.TrimPrefix(b.String(), "fdb.")
}
