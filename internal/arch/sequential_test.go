// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sequentialUses lists the packages of SEQUENTIAL that import packages which start
// goroutines, and why the detector need not see their tests all the same.
var sequentialUses = map[string]string{
	"cmd/kazahana/internal/doctor": "it reads one step after the other; the engines and leases below are tested with the detector themselves",
	"internal/arch":                "its tests read source and run the go command; the packages are imported for the fields of their types",
	"kv/embedded/internal/btree":   "types of kv",
	"kv/embedded/internal/keys":    "types of kv",
	"kv/internal/scenario":         "types of kv",
	"kv/internal/replay":           "its tests take one step after the other; engines replay the recordings in their own tests",
	"internal/persistable/format":  "types of kv",
}

// TestSequential checks the list SEQUENTIAL of the Makefile. Its packages are
// not tested under the race detector: neither the tests of a package, nor the
// package, nor a package of the module below it starts a goroutine.
func TestSequential(t *testing.T) {
	below, tested := map[string][]string{}, map[string][]string{} // what packages import, without their tests and with them
	for _, pkg := range listed(t) {
		path, _, _ := strings.Cut(pkg.ImportPath, " ")
		if path = strings.TrimSuffix(path, "_test"); path == pkg.ForTest {
			tested[path] = append(tested[path], pkg.Imports...)
		} else if !pkg.ofTest() {
			below[path] = pkg.Imports
		}
	}
	for _, pkg := range listOfMakefile(t, "SEQUENTIAL") {
		if tested[module+"/"+pkg] == nil {
			t.Errorf("the Makefile lists %s as SEQUENTIAL, but there is no such package with tests", pkg)
		}
		if startsGoroutine(t, pkg, "*_test.go") {
			t.Errorf("the Makefile lists %s as SEQUENTIAL, but its tests start goroutines", pkg)
		}
		if sequentialUses[pkg] != "" {
			continue
		}
		for _, dep := range append(reachable(below, tested[module+"/"+pkg]), pkg) {
			if startsGoroutine(t, dep, "*.go") {
				t.Errorf("the Makefile lists %s as SEQUENTIAL, but %s starts goroutines", pkg, dep)
			}
		}
	}
}

// TestSequentialTests checks the list SEQUENTIAL_TESTS of the Makefile: each is a test,
// and starts no goroutine itself.
func TestSequentialTests(t *testing.T) {
	bodies := map[string][]*ast.BlockStmt{}
	err := filepath.WalkDir(root, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				bodies[f.Name.Name] = append(bodies[f.Name.Name], f.Body)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range listOfMakefile(t, "SEQUENTIAL_TESTS") {
		if bodies["Test"+name] == nil {
			t.Errorf("the Makefile lists Test%s among SEQUENTIAL_TESTS, but there is no such test", name)
		}
		if slices.ContainsFunc(bodies["Test"+name], func(b *ast.BlockStmt) bool { return hasGo(b, "Go", "RunParallel", "AfterFunc") }) {
			t.Errorf("the Makefile lists Test%s among SEQUENTIAL_TESTS, but it starts goroutines", name)
		}
	}
}

// listOfMakefile returns the words of a variable that an empty line ends.
func listOfMakefile(t *testing.T, name string) []string {
	t.Helper()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(makefile), "\n"+name+" := ")
	list, _, ended := strings.Cut(list, "\n\n")
	if !found || !ended {
		t.Fatalf("the Makefile has no list %s that ends with an empty line", name)
	}
	return strings.Fields(strings.ReplaceAll(list, "\\\n", " "))
}

// reachable returns the packages of the module among imports, and those that
// they import in turn.
func reachable(below map[string][]string, imports []string) []string {
	var found []string
	for todo := imports; len(todo) > 0; todo = todo[1:] {
		path, _, _ := strings.Cut(todo[0], " ")
		dir, ours := strings.CutPrefix(path, module+"/")
		if ours && !slices.Contains(found, dir) {
			found, todo = append(found, dir), append(todo, below[path]...)
		}
	}
	return found
}

// startsGoroutine reports whether a file of the package has a go statement, or
// uses what starts goroutines. Tests are looked at only if pattern asks for them.
func startsGoroutine(t *testing.T, pkg, pattern string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pkg, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		if pattern == "*.go" && strings.HasSuffix(file, "_test.go") {
			return false
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return hasGo(parsed, "Go", "Parallel", "RunParallel", "AfterFunc") || importsConcurrency(parsed)
	})
}

// hasGo reports whether there is a go statement, or a call of one of the methods, of a
// WaitGroup or errgroup, of a test, of a benchmark.
func hasGo(code ast.Node, methods ...string) bool {
	found := false
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || slices.Contains(methods, n.Sel.Name)
		}
		return !found
	})
	return found
}

func importsConcurrency(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return slices.Contains([]string{`"net"`, `"net/http"`, `"net/http/httptest"`, `"testing/synctest"`, `"golang.org/x/sync/errgroup"`}, i.Path.Value)
	})
}
