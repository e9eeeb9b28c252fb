// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"go/ast"
	"strings"
	"unicode"
)

// Method is a method, and whether it is in a file of its type.
type Method struct {
	Position
	Type, Name string
	// Away is set if the file neither declares the type nor is named after it.
	Away bool
}

// Methods returns the methods of all files. A file is named after a type if its
// name is that of the type, in snake case, or begins with it: open_read.go is
// named after openRead and after open.
func Methods(files []*File) []Method {
	homes := declaringFiles(files)
	var methods []Method
	for _, f := range files {
		for _, decl := range f.Syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List) == 0 {
				continue
			}
			receiver := receiverName(fn.Recv.List[0].Type)
			declared := homes[f.Package+"."+receiver] == f
			methods = append(methods, Method{f.position(fn.Pos()), receiver, fn.Name.Name, !declared && !namedAfter(f.stem(), receiver)})
		}
	}
	return methods
}

// declaringFiles maps package.Type to the file that declares it.
func declaringFiles(files []*File) map[string]*File {
	homes := map[string]*File{}
	for _, f := range files {
		for _, spec := range typeSpecs(f) {
			homes[f.Package+"."+spec.Name.Name] = f
		}
	}
	return homes
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func namedAfter(stem, typ string) bool {
	name := strings.Join(words(typ), "_")
	return stem == name || strings.HasPrefix(stem, name+"_") || strings.ReplaceAll(stem, "_", "") == strings.ReplaceAll(name, "_", "")
}

// words splits a Go name at its capitals, in lower case: DBKeys becomes db, keys.
func words(name string) []string {
	var parts []string
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || beginsWord(runes, i) {
			parts = append(parts, strings.ToLower(string(runes[start:i])))
			start = i
		}
	}
	return parts
}

// beginsWord reports whether a word begins at i: at a capital after a small
// letter, and at the last capital of a row of them.
func beginsWord(name []rune, i int) bool {
	if !unicode.IsUpper(name[i]) {
		return false
	}
	return !unicode.IsUpper(name[i-1]) || i+1 < len(name) && unicode.IsLower(name[i+1])
}
