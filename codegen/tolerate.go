// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// tolerates reports whether a type error is in a statement or declaration that
// uses generated code. Such code may still speak of what was generated before:
// after an index was renamed, its author needs the new file to mend it.
func (l *loadedPackage) tolerates(at token.Pos) bool {
	if l.isGeneratedAt(at) {
		return false // a fault of persistgen
	}
	for _, file := range l.files {
		if at < file.FileStart || file.FileEnd <= at {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(file, at, at)
		for _, node := range path {
			switch node.(type) {
			case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
				return false
			case ast.Stmt, *ast.ValueSpec, *ast.Field:
				return l.usesGenerated(node)
			}
		}
	}
	return false
}

// usesGenerated reports whether an identifier in the node names something
// generated, or is of a generated type.
func (l *loadedPackage) usesGenerated(node ast.Node) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		if !ok || found {
			return !found
		}
		if object := l.info.ObjectOf(ident); object != nil {
			found = l.isGeneratedAt(object.Pos()) || l.isGeneratedType(object.Type())
		}
		return !found
	})
	return found
}

// isGeneratedType reports whether a type, or what it points to, is declared in
// a generated file.
func (l *loadedPackage) isGeneratedType(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := t.(*types.Named)
	return ok && l.isGeneratedAt(named.Obj().Pos())
}

// isGeneratedAt reports whether a position is in a generated file.
func (l *loadedPackage) isGeneratedAt(p token.Pos) bool {
	return p.IsValid() && strings.HasSuffix(l.position(p).Filename, generatedSuffix)
}
