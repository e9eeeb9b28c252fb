// SPDX-License-Identifier: Apache-2.0

// Package source loads Go packages with their types and syntax. It executes none of
// their code.
//
// While it loads a package it replaces an earlier output of persistgen by an empty
// file, so that a stale or broken output does no harm. It also decides which type
// errors keep persistgen from writing: see [Package.Tolerates].
package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/packages"
)

// Package is a type-checked package with its syntax.
type Package struct {
	Name, Path, Dir string
	fset            *token.FileSet
	files           []*ast.File
	Types           *types.Package
	Info            *types.Info
	TypeErrors      []types.Error
	Fields          map[token.Pos]*ast.Field
	Structs         map[token.Pos]*ast.TypeSpec
	Constraints     map[string]string  // file name → build constraint
	Generated       []string           // files of ours that take part in the build
	Unusable        bool               // files do not parse, go list refuses them, or there are none
	Read            map[token.Pos]bool // the fields of this and other packages that were read as parts of stored structs
	NotVendored     bool               // the folder vendor lacks an import of the generated code
	LeftOut         []LeftOut
}

// fieldsByPosition maps the position of each struct field's name, or of an
// embedded field's type name, to its syntax.
func fieldsByPosition(files []*ast.File) map[token.Pos]*ast.Field {
	m := map[token.Pos]*ast.Field{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					m[name.Pos()] = f
				}
				if len(f.Names) == 0 {
					m[embeddedName(f.Type).Pos()] = f
				}
			}
			return true
		})
	}
	return m
}

// embeddedName is the identifier that names an embedded field.
func embeddedName(e ast.Expr) ast.Node {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.ParenExpr:
		return embeddedName(e.X)
	case *ast.IndexExpr:
		return embeddedName(e.X)
	case *ast.IndexListExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	}
	return e
}

// Position is where p stands in the source.
func (l *Package) Position(p token.Pos) token.Position { return l.fset.Position(p) }

// Declares reports whether an identifier is in the package's own files.
func (l *Package) Declares(ident *ast.Ident) bool {
	return slices.ContainsFunc(l.files, func(f *ast.File) bool {
		return f.FileStart <= ident.Pos() && ident.Pos() < f.FileEnd
	})
}

func newPackage(p *packages.Package, one *checkedPackage, fset *token.FileSet, ours map[string][]string) *Package {
	l := &Package{
		Name: p.Name, Path: p.PkgPath, Dir: p.Dir, fset: fset, files: one.files,
		Types: one.types, Info: one.info, TypeErrors: one.errors,
		Fields: fieldsByPosition(one.files), Structs: map[token.Pos]*ast.TypeSpec{},
		Constraints: map[string]string{}, Generated: ours[p.Dir],
		Unusable: len(p.Errors)+len(one.faults) > 0 || len(p.GoFiles) == 0, Read: map[token.Pos]bool{},
	}
	for _, imported := range p.Imports {
		l.NotVendored = l.NotVendored || slices.ContainsFunc(imported.Errors, func(one packages.Error) bool { _, found := notVendored(one); return found })
	}
	if l.Dir == "" && len(p.GoFiles) > 0 {
		l.Dir = filepath.Dir(p.GoFiles[0])
	}
	if l.Dir != "" {
		l.LeftOut = leftOut(l.Dir, p.GoFiles)
	}
	for _, file := range one.files {
		l.Constraints[fset.Position(file.FileStart).Filename] = constraintOf(fset, file)
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				l.Structs[s.Name.Pos()] = s
			}
			return true
		})
	}
	return l
}

// Eval evaluates a Go expression as if it stood at p.
func (l *Package) Eval(p token.Pos, expression string) (types.TypeAndValue, error) {
	return types.Eval(l.fset, l.Types, p, expression)
}

// IsBroken reports whether the package has type errors.
func (l *Package) IsBroken() bool { return len(l.TypeErrors) > 0 }

// UnreadTags yields, for each struct of the package of which no field was read, the first
// field that the literal of its tag speaks for.
func (l *Package) UnreadTags(isRead func(token.Pos) bool, speaks func(literal string) bool) (list []token.Position) {
	for _, file := range l.files {
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			var first *ast.Field
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					if isRead(name.Pos()) {
						return true
					}
				}
				if len(f.Names) == 0 && isRead(embeddedName(f.Type).Pos()) {
					return true
				}
				if first == nil && f.Tag != nil && speaks(f.Tag.Value) {
					first = f
				}
			}
			if first != nil {
				list = append(list, l.Position(first.Tag.Pos()))
			}
			return true
		})
	}
	return list
}

// IsInField reports whether a position is in the declaration of a struct field.
func (l *Package) IsInField(p token.Pos) bool {
	for _, f := range l.Fields {
		if f.Pos() <= p && p < f.End() {
			return true
		}
	}
	return false
}

// Tolerates reports whether persistgen may write its files in spite of a type
// error. It may if the error is in a function body, or an import that is not used:
// neither changes the annotated structs. It may if the error is in a declaration
// that uses generated code: after an index was renamed, the author needs the new
// file to correct the declaration. An error in generated code is a fault of
// persistgen.
func (l *Package) Tolerates(one types.Error) bool {
	if l.isGeneratedAt(one.Pos) {
		return false
	}
	if one.Soft {
		return true
	}
	path := l.enclosing(one.Pos)
	for _, node := range path {
		if _, body := node.(*ast.BlockStmt); body {
			return true
		}
	}
	for _, node := range path {
		switch node.(type) {
		case *ast.ValueSpec, *ast.Field:
			return l.usesGenerated(node)
		}
	}
	return false
}

// enclosing returns the syntax around a position, the innermost node first.
func (l *Package) enclosing(at token.Pos) []ast.Node {
	for _, file := range l.files {
		if file.FileStart <= at && at < file.FileEnd {
			path, _ := astutil.PathEnclosingInterval(file, at, at)
			return path
		}
	}
	return nil
}

// usesGenerated reports whether an identifier in the node names something
// generated, or is of a generated type.
func (l *Package) usesGenerated(node ast.Node) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		if !ok || found {
			return !found
		}
		if object := l.Info.ObjectOf(ident); object != nil {
			found = l.isGeneratedAt(object.Pos()) || l.isGeneratedType(object.Type())
		}
		return !found
	})
	return found
}

// isGeneratedType reports whether a type, or what it points to, is declared in
// a generated file.
func (l *Package) isGeneratedType(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && l.isGeneratedAt(named.Obj().Pos())
}

// isGeneratedAt reports whether a position is in a generated file.
func (l *Package) isGeneratedAt(p token.Pos) bool {
	return p.IsValid() && strings.HasSuffix(l.Position(p).Filename, output.GeneratedSuffix)
}
