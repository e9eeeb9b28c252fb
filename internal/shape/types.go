// SPDX-License-Identifier: Apache-2.0

package shape

import (
	"go/ast"
	"strings"
)

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
