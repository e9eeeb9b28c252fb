// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"go/ast"
	"slices"
)

// Length is the number of lines of a file or function.
type Length struct {
	Position
	Name  string
	Lines int
}

// FileLengths returns the lengths of files.
func FileLengths(files []*File) []Length {
	var all []Length
	for _, f := range files {
		lines := f.Set.File(f.Syntax.FileStart).LineCount()
		all = append(all, Length{Position{f.Path, 1}, f.Path, lines})
	}
	return all
}

// FunctionLengths returns the lengths of functions and methods, from the line of
// func to the line of the closing brace.
func FunctionLengths(files []*File) []Length {
	var all []Length
	for _, f := range files {
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				lines := f.position(fn.End()).Line - f.position(fn.Pos()).Line + 1
				all = append(all, Length{f.position(fn.Pos()), fn.Name.Name, lines})
			}
		}
	}
	return all
}

// Percentile returns the length below which p percent of all lie, from 0 to 100;
// 0 if there is none.
func Percentile(all []Length, p int) int {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b Length) int { return a.Lines - b.Lines })
	return sorted[(len(sorted)-1)*p/100].Lines
}
