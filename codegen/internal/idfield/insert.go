// SPDX-License-Identifier: Apache-2.0

package idfield

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// insertion is text to be put into a file at an offset.
type insertion struct {
	at   int
	text string
}

// Insert returns the source with an ID field in each of the named structs
// of the package, and the import that it needs. All other text stays as it is; a file that
// gofmt would leave alone before, it leaves alone after.
func Insert(name string, source []byte, structs []string) ([]byte, error) {
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
	fixed := apply(source, insertions)
	if before, err := format.Source(source); err == nil && bytes.Equal(before, source) {
		return format.Source(fixed)
	}
	return fixed, nil
}

// apply makes the insertions, from the end so that offsets stay right.
func apply(source []byte, insertions []insertion) []byte {
	slices.SortStableFunc(insertions, func(a, b insertion) int { return cmp.Compare(b.at, a.at) })
	text := slices.Clone(source)
	for _, one := range insertions {
		text = slices.Insert(text, one.at, []byte(one.text)...)
	}
	return text
}

// idField puts the field behind the last marker, on a line of its own, and into
// the paragraph that follows if that begins with a field.
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
