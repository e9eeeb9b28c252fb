// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"bytes"
	"go/scanner"
	"go/token"
	"go/types"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// packageNames are the names of the packages that generated functions use in
// their bodies: the run-time's, and those of the fields' types. Parameters
// must not hide them.
func packageNames(p *model.Package) map[string]bool {
	names := map[string]bool{"persistable": true, "persistimpl": true, "index": true, "idgen": true, "strconv": true, "iter": true}
	for _, m := range p.Messages {
		for _, s := range m.Literal {
			addPackageNames(s, names)
		}
	}
	return names
}

func addPackageNames(s *model.Slot, names map[string]bool) {
	types.TypeString(s.Type, func(p *types.Package) string {
		names[p.Name()] = true
		return ""
	})
	for _, inner := range s.Embedded {
		addPackageNames(inner, names)
	}
}

// parameterNames spells names as parameters that hide no package, keyword or predeclared
// identifier, nothing that the package declares, none of the names given, and not each
// other.
func (e *emitter) parameterNames(goNames []string, others ...string) []string {
	packages, taken := packageNames(e.model), map[string]bool{}
	for _, name := range others {
		taken[name] = true
	}
	names := make([]string, len(goNames))
	for i, goName := range goNames {
		name := model.Unexported(goName)
		if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || taken[name] || packages[name] || e.declared[name] {
			name += "Value"
		}
		for e.declared[name] {
			name += "Value"
		}
		names[i] = model.FreeName(name, taken)
	}
	return names
}

// localNames are the variables of generated functions, but for parameters that are named
// after fields.
var localNames = []string{
	"b", "v", "s", "r", "k", "e", "i", "at", "n", "p", "ok", "id", "db", "tx", "ctx", "err", "args", "key", "value", "element", "depth", "data", "m",
	"record", "row", "rest", "sum", "entry", "literal", "field", "got", "version",
}

// declaredNames are the names that the package declares, in its source and in the
// generated code.
func declaredNames(p *model.Package) map[string]bool {
	names := map[string]bool{}
	for _, name := range p.Types.Scope().Names() {
		names[name] = true
	}
	for _, m := range p.Messages {
		for _, name := range m.Declarations() {
			names[name] = true
		}
	}
	return names
}

// typeMark begins the names of the package's own types while the code is written. So
// they are told from variables of the same names until [emitter.nameVariables] has given
// those others.
const typeMark = "\u01c3"

// recordType is the expression of a record's type.
func (e *emitter) recordType(r *model.Record) string { return e.typeName(r.Message.Named) }

// nameVariables gives the variables of functions other names where the package declares
// the usual ones, and removes the marks of types. It also returns the predeclared names
// that the code needs and the package hides.
func (e *emitter) nameVariables(code []byte) (named []byte, hidden []string) {
	free := map[string]string{}
	for _, name := range localNames {
		if e.declared[name] {
			free[name] = model.FreeName(name, e.taken)
		}
	}
	var out bytes.Buffer
	found := map[string]bool{}
	written := 0
	for at, name := range identifiers(code) {
		if other := free[name]; other != "" {
			out.Write(code[written:at])
			out.WriteString(other)
			written = at + len(name)
		} else if e.hides(name) && !found[name] {
			found[name] = true
			hidden = append(hidden, name)
		}
	}
	out.Write(code[written:])
	return bytes.ReplaceAll(out.Bytes(), []byte(typeMark), nil), hidden
}

// hides reports whether the package declares a predeclared name as something else.
func (e *emitter) hides(name string) bool {
	predeclared, own := types.Universe.Lookup(name), e.home.Scope().Lookup(name)
	return predeclared != nil && own != nil && !isAliasOf(own, predeclared)
}

// isAliasOf reports whether an object is a type that only has another name, as any had
// in older code.
func isAliasOf(own, predeclared types.Object) bool {
	name, ok := own.(*types.TypeName)
	return ok && name.IsAlias() && types.Identical(types.Unalias(name.Type()), types.Unalias(predeclared.Type()))
}

// identifiers yields the identifiers of code that are neither selected from something nor
// the name of the package, with their offsets.
func identifiers(code []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		fset := token.NewFileSet()
		file := fset.AddFile("", fset.Base(), len(code))
		var s scanner.Scanner
		s.Init(file, code, nil, 0)
		for before := token.ILLEGAL; ; {
			pos, kind, text := s.Scan()
			if kind == token.EOF || kind == token.IDENT && before != token.PERIOD && before != token.PACKAGE && !yield(file.Offset(pos), text) {
				return
			}
			before = kind
		}
	}
}
