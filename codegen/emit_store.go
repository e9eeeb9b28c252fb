// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/types"
	"strings"
)

// store writes the store type, its constructor, In and New.
func (e *emitter) store(r *record) {
	persistable, id := e.pkg(persistablePath), e.typ(r.idField.typ.goType)
	e.p("// %s holds the records of type %s of one directory.", r.storeType(), r.goName)
	e.p("type %s struct {\n\t%s.Store[*%s, %s]\n}\n", r.storeType(), persistable, r.goName, id)
	fields := r.directory.fields()
	names := e.parameters(fields)
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
		e.storeNew(r)
	}
}

// parameters names the parameter of each {Field} of a directory.
func (e *emitter) parameters(fields []*field) map[*field]string {
	var goNames []string
	for _, f := range fields {
		goNames = append(goNames, f.goName)
	}
	names := map[*field]string{}
	list := parameterNames(e.model, goNames, "db")
	for i, f := range fields {
		names[f] = list[i]
	}
	return names
}

// signature lists the parameters of the fields, neighbours of one type joined.
func (e *emitter) signature(fields []*field, names map[*field]string) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(names[f])
		if i+1 == len(fields) || !types.Identical(f.typ.goType, fields[i+1].typ.goType) {
			b.WriteString(" " + e.typ(f.typ.goType))
		}
	}
	return b.String()
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
func (e *emitter) storeNew(r *record) {
	var filled []string
	for _, f := range r.directory.fields() {
		filled = append(filled, f.goName)
	}
	e.p("// New is %s for this store's directory: it fills %s.", r.constructor(), strings.Join(filled, ", "))
	e.p("// A literal that says another directory panics.")
	e.p("func (s *%s) New(literal %s) *%s {", r.storeType(), r.goName, r.goName)
	e.p("%s.FillArgs(&s.Store, &%s, &literal)", e.pkg(persistimplPath), r.schemaVar())
	e.p("return %s(literal)\n}\n", r.constructor())
}
