// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/diagnostic"
	"golang.org/x/tools/go/packages"
)

// parseFile parses a file, without function bodies unless whole is asked for.
func parseFile(fset *token.FileSet, name string, source []byte, whole bool) (*ast.File, error) {
	if whole {
		return parser.ParseFile(fset, name, source, parser.SkipObjectResolution|parser.ParseComments)
	}
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if file == nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			f.Body = &ast.BlockStmt{}
		}
	}
	return file, err
}

// reportPackageErrors records the faults that leave no usable source: files
// that do not parse, imports that are not found.
func reportPackageErrors(p *packages.Package, f *diagnostic.List) {
	for _, one := range p.Errors {
		f.Add(parsePosition(one.Pos, p.Dir), "", "%s", strings.TrimSpace(one.Msg))
	}
}

// parsePosition reads "file:line:col" as go list writes it.
func parsePosition(text, dir string) token.Position {
	at := token.Position{Filename: dir}
	if text == "" || text == "-" {
		return at
	}
	var rest string
	at.Filename, rest, _ = cutPosition(text)
	if !filepath.IsAbs(at.Filename) {
		at.Filename = filepath.Join(dir, filepath.Base(at.Filename))
	}
	_, _ = fmt.Sscanf(rest, "%d:%d", &at.Line, &at.Column)
	return at
}

// cutPosition splits a position behind ".go".
func cutPosition(text string) (file, rest string, found bool) {
	if i := strings.LastIndex(text, ".go:"); i >= 0 {
		return text[:i+3], text[i+4:], true
	}
	return text, "", false
}
