// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"
)

// store writes the store type, its constructor, In and New.
func (e *emitter) store(r *record) {
	persistable, id := e.pkg(persistablePath), e.typ(r.idField.typ.goType)
	e.p("// %s holds the records of type %s of one directory.", r.storeType(), r.goName)
	e.p("type %s struct {\n\t%s.Store[*%s, %s]\n}\n", r.storeType(), persistable, r.goName, id)
	names := e.parameters(r)
	fields := r.directory.fields()
	signature := "db *" + persistable + ".DB"
	if len(fields) > 0 {
		signature += ", " + e.signature(fields, names)
	}
	e.p("// %s returns the store of the directory %s.", r.storeOf(), r.directory)
	e.p("func %s(%s) *%s {", r.storeOf(), signature, r.storeType())
	e.p("return &%s{%s.NewStore[*%s, %s](db, &%s%s)}\n}\n", r.storeType(), e.pkg(persistimplPath), r.goName, id, r.schemaVar(), e.storeArguments(r, names))
	e.p("// In returns the store bound to a transaction.")
	e.p("func (s *%s) In(tx %s.Tx) *%s { return &%s{s.Store.In(tx)} }\n", r.storeType(), persistable, r.storeType(), r.storeType())
	if len(fields) > 0 {
		e.storeNew(r, names, fields)
	}
}

// storeArguments lists the directory arguments, one per {Field} of the path.
func (e *emitter) storeArguments(r *record, names map[*field]string) string {
	var b strings.Builder
	for _, element := range r.directory.elements {
		if element.bound != nil {
			b.WriteString(", " + e.toArgument(element.bound, names[element.bound]))
		}
	}
	return b.String()
}

// toArgument is the expression of a {Field}'s value as a string.
func (e *emitter) toArgument(f *field, value string) string {
	t := f.typ
	switch t.form {
	case formInt, formID:
		return fmt.Sprintf("%s.FormatInt(int64(%s), 10)", e.pkg("strconv"), value)
	case formUint:
		return fmt.Sprintf("%s.FormatUint(uint64(%s), 10)", e.pkg("strconv"), value)
	}
	if e.typ(t.goType) == "string" {
		return value
	}
	return fmt.Sprintf("string(%s)", value)
}

// storeNew writes the store's own New, which fills the {Field}s from its path.
func (e *emitter) storeNew(r *record, names map[*field]string, bound []*field) {
	var parameters []*field
	var arguments []string
	isBound := map[*field]bool{}
	for _, f := range bound {
		isBound[f] = true
	}
	for _, f := range r.message.ordered() {
		switch {
		case f == r.idField:
		case isBound[f]:
			arguments = append(arguments, names[f])
		default:
			parameters = append(parameters, f)
			arguments = append(arguments, names[f])
		}
	}
	e.p("// New returns %s of this store's directory, %s.", article(r.goName), r.idComment())
	e.p("func (s *%s) New(%s) *%s {", r.storeType(), e.signature(parameters, names), r.goName)
	for _, f := range bound {
		e.fromArgument(r, f, names[f])
	}
	e.p("return %s(%s)\n}\n", r.constructor(), strings.Join(arguments, ", "))
}

// fromArgument declares a variable with a {Field}'s value, taken from the
// store's arguments.
func (e *emitter) fromArgument(r *record, f *field, name string) {
	index := 0
	for _, element := range r.directory.elements {
		if element.bound == f {
			break
		}
		if element.bound != nil {
			index++
		}
	}
	argument := fmt.Sprintf("%s.Arg(&s.Store, %d)", e.pkg(persistimplPath), index)
	t := e.typ(f.typ.goType)
	switch f.typ.form {
	case formInt, formID:
		e.p("%sText, _ := %s.ParseInt(%s, 10, 64) // it was formatted by %s", name, e.pkg("strconv"), argument, r.storeOf())
		e.p("%s := %s(%sText)", name, t, name)
	case formUint:
		e.p("%sText, _ := %s.ParseUint(%s, 10, 64) // it was formatted by %s", name, e.pkg("strconv"), argument, r.storeOf())
		e.p("%s := %s(%sText)", name, t, name)
	default:
		if t != "string" {
			argument = t + "(" + argument + ")"
		}
		e.p("%s := %s", name, argument)
	}
}
