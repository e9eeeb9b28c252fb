// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// printer gathers the text of a generated file and the imports that it needs.
type printer struct {
	body    bytes.Buffer
	home    *types.Package
	aliases map[string]string // import path → name in the file
	names   map[string]string // import path → the package's own name
	taken   map[string]bool   // names that an import must not have

	declared map[string]bool // names that the package declares
}

// newPrinter makes a printer for a file of a package. It gives no import a name that
// the file's functions use, or that the package declares, including its tests and
// files of other builds.
func newPrinter(p *model.Package) *printer {
	w := &printer{home: p.Types, aliases: map[string]string{}, names: map[string]string{}, declared: declaredNames(p)}
	w.taken = maps.Clone(w.declared)
	for _, name := range slices.Concat(p.Elsewhere, localNames) {
		w.taken[name] = true
	}
	return w
}

// printf prints a line.
func (w *printer) printf(format string, args ...any) {
	fmt.Fprintf(&w.body, format, args...)
	w.body.WriteByte('\n')
}

// importPackage returns the name under which the file imports a package.
func (w *printer) importPackage(importPath string) string {
	return w.importAs(importPath, path.Base(importPath))
}

// importAs imports a package under its own name, which is given, or under another if
// that name is taken.
func (w *printer) importAs(importPath, name string) string {
	if alias, ok := w.aliases[importPath]; ok {
		return alias
	}
	alias := name
	for n := 2; w.taken[alias] || token.IsKeyword(alias); n++ {
		alias = fmt.Sprintf("%s%d", name, n)
	}
	w.taken[alias] = true
	w.aliases[importPath], w.names[importPath] = alias, name
	return alias
}

// typeName spells a type, importing what it names, and marks types of the package itself.
func (w *printer) typeName(t types.Type) string {
	text := types.TypeString(t, func(p *types.Package) string {
		if p == w.home || p.Path() == w.home.Path() {
			return typeMark
		}
		return w.importAs(p.Path(), p.Name())
	})
	return strings.ReplaceAll(text, typeMark+".", typeMark)
}

// importDeclaration writes the import declaration: the standard library, then the rest.
func (w *printer) importDeclaration() string {
	var standard, other []string
	for _, importPath := range slices.Sorted(maps.Keys(w.aliases)) {
		line := "\t" + strconv.Quote(importPath)
		if alias := w.aliases[importPath]; alias != path.Base(importPath) {
			line = "\t" + alias + " " + strconv.Quote(importPath)
		}
		if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") {
			other = append(other, line)
		} else {
			standard = append(standard, line)
		}
	}
	if len(standard) > 0 && len(other) > 0 {
		standard = append(standard, "")
	}
	return "import (\n" + strings.Join(append(standard, other...), "\n") + "\n)\n"
}

// value is a Go expression of a value to be encoded or decoded.
type value struct {
	expr    string // the value
	address string // its address
	dot     string // the value before a selector or an index
}

// variable is the value of a variable or a field of one.
func variable(name string) value { return value{name, "&" + name, name} }

// pointee is what a pointer points to.
func pointee(pointer string) value { return value{"*" + pointer, pointer, pointer} }
