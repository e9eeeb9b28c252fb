// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/parser"
	"go/token"
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
