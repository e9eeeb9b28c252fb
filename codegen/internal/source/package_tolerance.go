// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/output"
	"golang.org/x/tools/go/ast/astutil"
)

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
