// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/output"
)

// LeftOut is a declaration at package level in a file that the load left out: a test, or
// a file for other systems or build tags. Generated code must compile with it.
type LeftOut struct {
	Name       string
	At         token.Position
	Package    string // the file's package clause
	Constraint string
	Test       bool
	Marked     bool // a struct with markers of package persistable
}

// leftOut returns the declarations of a folder's files other than those in use, and those
// that persistgen wrote. Files that do not parse have none.
func leftOut(dir string, inUse []string) (list []LeftOut) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil || slices.ContainsFunc(inUse, func(other string) bool { return isSameFile(other, name) }) ||
			strings.HasSuffix(name, output.GeneratedSuffix) && output.IsGenerated(content) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, content, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			continue
		}
		one := LeftOut{Package: file.Name.Name, Constraint: constraintOf(fset, file), Test: strings.HasSuffix(name, "_test.go")}
		for ident, spec := range declarations(file) {
			one.Name, one.At, one.Marked = ident.Name, fset.Position(ident.Pos()), isMarked(spec, file)
			list = append(list, one)
		}
	}
	return list
}

// declarations yields the names that a file declares at package level, and the
// specifications of its types.
func declarations(file *ast.File) func(yield func(*ast.Ident, *ast.TypeSpec) bool) {
	names := map[*ast.Ident]*ast.TypeSpec{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name != "init" {
			names[f.Name] = nil
		}
		group, _ := d.(*ast.GenDecl)
		if group == nil {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names[spec.Name] = spec
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names[name] = nil
				}
			}
		}
	}
	return func(yield func(*ast.Ident, *ast.TypeSpec) bool) {
		for _, ident := range slices.SortedFunc(maps.Keys(names), func(a, b *ast.Ident) int { return int(a.Pos() - b.Pos()) }) {
			if ident.Name != "_" && !yield(ident, names[ident]) {
				return
			}
		}
	}
}

// isMarked reports whether a type is a struct with a blank field of package persistable.
func isMarked(spec *ast.TypeSpec, file *ast.File) bool {
	if spec == nil {
		return false
	}
	s, ok := spec.Type.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		selector, ok := f.Type.(*ast.SelectorExpr)
		if !ok || len(f.Names) != 1 || f.Names[0].Name != "_" {
			return false
		}
		of, ok := selector.X.(*ast.Ident)
		return ok && slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == `"`+model.PersistablePath+`"` && (i.Name == nil && of.Name == "persistable" || i.Name != nil && i.Name.Name == of.Name)
		})
	})
}

// leftOutBelow returns the declarations of the folders below dir that the go command
// leaves out as a whole, because no file of theirs belongs to the build.
func leftOutBelow(dir string, loaded map[string]bool) (list []LeftOut) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil
		}
		switch name := entry.Name(); {
		case path != dir && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") || name == "testdata" || name == "vendor" || exists(filepath.Join(path, "go.mod"))):
			return filepath.SkipDir
		case !loaded[path]:
			list = append(list, leftOut(path, nil)...)
		}
		return nil
	})
	return list
}

// MayMeet reports whether one build can have files with both constraints: some choice
// of a system, an architecture and tags fulfils them.
func MayMeet(a, b string) bool {
	var both []constraint.Expr
	tags := map[string]bool{}
	for _, text := range []string{a, b} {
		if e, err := constraint.Parse("//go:build " + text); text != "" && err == nil {
			both = append(both, e)
			e.Eval(func(tag string) bool { tags[tag] = true; return true })
		}
	}
	var free []string
	for tag := range tags {
		if !slices.Contains(knownOS, tag) && !slices.Contains(knownArch, tag) && tag != "unix" {
			free = append(free, tag)
		}
	}
	for _, system := range append(knownOS, "") {
		for _, arch := range append(knownArch, "") {
			for chosen := range 1 << min(len(free), 10) {
				holds := func(tag string) bool {
					i := slices.Index(free, tag)
					return tag == system || tag == impliedOS[system] || tag == arch || tag == "unix" && slices.Contains(unixOS, system) || i >= 0 && chosen>>i&1 == 1
				}
				if !slices.ContainsFunc(both, func(e constraint.Expr) bool { return !e.Eval(holds) }) {
					return true
				}
			}
		}
	}
	return false
}

// impliedOS are the tags that systems have besides their own.
var impliedOS = map[string]string{"android": "linux", "illumos": "solaris", "ios": "darwin"}

// unixOS are the systems of the build tag unix.
var unixOS = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios linux netbsd openbsd solaris")

// constraintOf is the build constraint of a file: its //go:build line and what
// its name, or an import "C", implies.
func constraintOf(fset *token.FileSet, file *ast.File) string {
	var parts []constraint.Expr
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, line := range group.List {
			if e, err := constraint.Parse(line.Text); err == nil && constraint.IsGoBuild(line.Text) {
				parts = append(parts, e)
			}
		}
	}
	for _, word := range nameConstraints(fset.Position(file.FileStart).Filename) {
		parts = append(parts, &constraint.TagExpr{Tag: word})
	}
	for _, one := range file.Imports {
		if one.Path.Value == `"C"` {
			parts = append(parts, &constraint.TagExpr{Tag: "cgo"})
		}
	}
	if len(parts) == 0 {
		return ""
	}
	e := parts[0]
	for _, part := range parts[1:] {
		e = &constraint.AndExpr{X: e, Y: part}
	}
	return e.String()
}

// nameConstraints returns the operating system and architecture that end a
// file's name, as go/build reads them.
func nameConstraints(file string) []string {
	name := strings.TrimSuffix(filepath.Base(file), ".go")
	_, rest, found := strings.Cut(name, "_")
	if !found {
		return nil
	}
	words := strings.Split(rest, "_")
	n := len(words)
	switch {
	case n >= 2 && slices.Contains(knownOS, words[n-2]) && slices.Contains(knownArch, words[n-1]):
		return words[n-2:]
	case slices.Contains(knownOS, words[n-1]) || slices.Contains(knownArch, words[n-1]):
		return words[n-1:]
	}
	return nil
}

// The words that go/build recognizes at the end of file names.
var (
	knownOS = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 " +
		"solaris wasip1 windows zos")
	knownArch = strings.Fields("386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 " +
		"mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm")
)
