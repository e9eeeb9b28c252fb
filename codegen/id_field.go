// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// insertion is text to be put into a file at an offset.
type insertion struct {
	at   int
	text string
}

// insertIDs returns the source with an ID field in each of the named structs
// of the package, and the import that it needs. All other text stays as it is; a file that
// gofmt would leave alone before, it leaves alone after.
func insertIDs(name string, source []byte, structs []string) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	alias, insertions := idgenImport(file, source, offset)
	for _, d := range file.Decls { // functions may have types of these names, too
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			spec := spec.(*ast.TypeSpec)
			if s, ok := spec.Type.(*ast.StructType); ok && slices.Contains(structs, spec.Name.Name) {
				insertions = append(insertions, idField(s, source, alias, offset))
			}
		}
	}
	fixed := applyInsertions(source, insertions)
	if before, err := format.Source(source); err == nil && bytes.Equal(before, source) {
		return format.Source(fixed)
	}
	return fixed, nil
}

// applyInsertions makes the insertions, from the end so that offsets stay right.
func applyInsertions(source []byte, insertions []insertion) []byte {
	slices.SortStableFunc(insertions, func(a, b insertion) int { return cmp.Compare(b.at, a.at) })
	text := slices.Clone(source)
	for _, one := range insertions {
		text = slices.Insert(text, one.at, []byte(one.text)...)
	}
	return text
}

// idField inserts the field after the last marker, on a line of its own. If the
// paragraph that follows begins with a field, the ID becomes its first line.
func idField(s *ast.StructType, source []byte, alias string, offset func(token.Pos) int) insertion {
	var last, next *ast.Field
	for _, f := range s.Fields.List {
		if len(f.Names) != 1 || f.Names[0].Name != "_" {
			next = f
			break
		}
		last = f
	}
	field := "\tID " + alias + ".ID"
	if last == nil {
		return insertion{offset(s.Fields.Opening) + 1, "\n" + field + "\n"}
	}
	end := offset(last.End())
	eol := bytes.IndexByte(source[end:], '\n')
	switch {
	case eol < 0 || end+eol >= offset(s.Fields.Closing):
		return insertion{end, "; " + strings.TrimSpace(field)} // a struct on one line
	case next != nil && string(bytes.TrimRight(source[end+eol:offset(next.Pos())], "\t ")) == "\n\n" && next.Doc == nil:
		return insertion{end + eol + 2, field + "\n"}
	}
	return insertion{end + eol, "\n\n" + field}
}

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
// after idgen.
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
