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

// OneWord returns the unexported methods with a name of a single word, and
// how many unexported methods there are.
func OneWord(methods []Method) (single []Method, unexported int) {
	for _, m := range methods {
		if ast.IsExported(m.Name) {
			continue
		}
		unexported++
		if len(words(m.Name)) == 1 {
			single = append(single, m)
		}
	}
	return single, unexported
}

// Type is a declared type, and whether a participle names it.
type Type struct {
	Position
	Name       string
	Participle bool
}

// Types returns the types that the files declare, those within functions too.
func Types(files []*File) []Type {
	var types []Type
	for _, f := range files {
		for _, spec := range typeSpecs(f) {
			types = append(types, Type{f.position(spec.Pos()), spec.Name.Name, participle(spec.Name.Name)})
		}
	}
	return types
}

func typeSpecs(f *File) []*ast.TypeSpec {
	var specs []*ast.TypeSpec
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			specs = append(specs, spec)
		}
		return true
	})
	return specs
}

// nouns end like participles, and are none, or are nouns as well in the field's
// own use. Signed and Unsigned are the constraints of that name.
var nouns = map[string]bool{
	"string": true, "ring": true, "thing": true, "encoding": true, "setting": true, "mapping": true, "binding": true, "recording": true,
	"warning": true, "listing": true, "ordering": true, "heading": true, "finding": true, "timing": true, "embedding": true,
	"seed": true, "need": true, "feed": true, "speed": true, "signed": true, "unsigned": true,
}

// participle reports whether a participle names a type: reading, held, or, as the
// last of several words, clockReading. A noun with a past participle names an
// event, such as LockReleased, and is none. It goes by endings, and knows the
// common verbs that have others.
func participle(name string) bool {
	all := words(name)
	last := all[len(all)-1]
	switch {
	case nouns[last]:
		return false
	case strings.HasSuffix(last, "ing"):
		return true
	}
	return len(all) == 1 && (strings.HasSuffix(last, "ed") || irregular[last])
}

// irregular are participles of verbs that form them otherwise.
var irregular = map[string]bool{
	"held": true, "given": true, "taken": true, "known": true, "found": true, "lost": true, "kept": true, "written": true, "seen": true, "done": true,
	"gone": true, "made": true, "sent": true, "left": true, "broken": true, "chosen": true, "drawn": true, "won": true, "shown": true, "stuck": true,
}
