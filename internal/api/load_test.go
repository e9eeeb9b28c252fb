// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fdbkv has functions with the tag foundationdb alone. It is read from source, as is the binding: compiling them needs a C compiler.
const (
	fdbkv   = module + "/kv/fdbkv"
	binding = "github.com/apple/foundationdb/bindings/go/src/fdb"
)

// exported lists what all public packages of the module, and of placement/protoactor, export.
func exported(t *testing.T) []string {
	t.Helper()
	compile := []string{"-deps", "-export"}
	for _, p := range goList(t, "./...", "./placement/protoactor/...") {
		if p.public() {
			compile = append(compile, p.ImportPath)
		}
	}
	loaded := goList(t, compile...)
	tagged := goList(t, "-tags", "foundationdb", fdbkv, binding+"/...", "runtime/cgo")
	from := newSources(loaded, tagged)
	var lines []string
	for _, p := range slices.Concat(loaded, tagged) {
		if !p.public() {
			continue
		}
		pkg, err := from.Import(p.ImportPath)
		if err != nil {
			t.Fatalf("%s: %v", p.ImportPath, err)
		}
		if _, err := os.ReadDir(p.Dir); err != nil { // go test runs the test again when a file changes
			t.Fatal(err)
		}
		lines = append(lines, list(pkg)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// goPackage is a package as go list describes it.
type goPackage struct {
	ImportPath, Name, Dir, Export string
	GoFiles, CgoFiles             []string
}

// public reports whether programs import the package.
func (p *goPackage) public() bool {
	path, ours := strings.CutPrefix(p.ImportPath, module+"/")
	elements := strings.Split(path, "/")
	return ours && p.Name != "main" && len(p.GoFiles)+len(p.CgoFiles) > 0 && !slices.Contains(elements, "internal") && !slices.Contains([]string{"cmd", "examples", "bench"}, elements[0])
}

// goList runs go list in the workspace of the Makefile, which has what the tests of all modules are compiled with.
func goList(t *testing.T, args ...string) []*goPackage {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,GoFiles,CgoFiles"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, ".ci", "go.work"), "CGO_ENABLED=0")
	if slices.Contains(args, "foundationdb") {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, told.String())
	}
	var all []*goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(goPackage)
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// sources imports packages: those of the tag foundationdb from source, others as they were compiled.
type sources struct {
	files    *token.FileSet
	compiled types.Importer
	tagged   map[string]*goPackage
	checked  map[string]*types.Package
}

func newSources(compiled, tagged []*goPackage) *sources {
	exports := map[string]string{}
	for _, p := range compiled {
		exports[p.ImportPath] = p.Export
	}
	s := &sources{files: token.NewFileSet(), tagged: map[string]*goPackage{}, checked: map[string]*types.Package{}}
	for _, p := range tagged {
		s.tagged[p.ImportPath] = p
	}
	s.compiled = importer.ForCompiler(s.files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(exports[path])
	})
	return s
}

// Import implements [types.Importer].
func (s *sources) Import(path string) (*types.Package, error) {
	p := s.tagged[path]
	if p == nil {
		return s.compiled.Import(path)
	}
	if pkg := s.checked[path]; pkg != nil {
		return pkg, nil
	}
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		file, err := parser.ParseFile(s.files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{Importer: s, FakeImportC: true, IgnoreFuncBodies: true}
	pkg, err := config.Check(path, s.files, files, nil)
	s.checked[path] = pkg
	return pkg, err
}
