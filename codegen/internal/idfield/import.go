// SPDX-License-Identifier: Apache-2.0

package idfield

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// idgenImport returns the name of idgen in the file, and the insertion that
// imports it if need be.
func idgenImport(file *ast.File, source []byte, offset func(token.Pos) int) (string, []insertion) {
	var persistable *ast.ImportSpec
	taken := false
	for _, spec := range file.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch {
		case importPath == model.IDGenPath && name != "_" && name != ".":
			return name, nil
		case name == "idgen":
			taken = true
		case importPath == model.PersistablePath:
			persistable = spec
		}
	}
	alias, line := "idgen", strconv.Quote(model.IDGenPath)
	if taken {
		alias, line = "kidgen", "kidgen "+strconv.Quote(model.IDGenPath)
	}
	return alias, importLine(file, persistable, line, source, offset)
}

// importLine puts an import into the group of the run-time's import, in order.
func importLine(file *ast.File, persistable *ast.ImportSpec, line string, source []byte, offset func(token.Pos) int) []insertion {
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.IMPORT || persistable == nil || !slices.Contains(group.Specs, ast.Spec(persistable)) {
			continue
		}
		if !group.Lparen.IsValid() {
			return []insertion{{offset(persistable.Pos()), "(\n\t" + line + "\n\t"}, {offset(persistable.End()), "\n)"}}
		}
		first := offset(firstAfter(group, persistable, source, offset).Pos())
		if start := lineStart(source, first); start > offset(group.Lparen) {
			return []insertion{{start, "\t" + line + "\n"}}
		}
		return []insertion{{first, line + "; "}}
	}
	return []insertion{{offset(file.Name.End()), "\n\nimport " + line}}
}

// firstAfter returns the first import of persistable's paragraph that sorts
// behind idgen.
func firstAfter(group *ast.GenDecl, persistable *ast.ImportSpec, source []byte, offset func(token.Pos) int) ast.Spec {
	first := ast.Spec(persistable)
	for i := slices.Index(group.Specs, ast.Spec(persistable)) - 1; i >= 0; i-- {
		spec := group.Specs[i].(*ast.ImportSpec)
		if bytes.Contains(source[offset(spec.End()):offset(first.Pos())], []byte("\n\n")) || spec.Path.Value < strconv.Quote(model.IDGenPath) {
			break
		}
		first = spec
	}
	return first
}

// lineStart is the offset of the line that holds an offset.
func lineStart(source []byte, at int) int { return bytes.LastIndexByte(source[:at], '\n') + 1 }
