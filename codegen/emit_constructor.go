// SPDX-License-Identifier: Apache-2.0

package codegen

// constructor writes NewOrder, whose labelled arguments are a struct literal.
func (e *emitter) constructor(r *record) {
	e.constructorComment(r)
	e.p("func %s(literal %s) *%s {", r.constructor(), r.goName, r.goName)
	if r.id != idAssigned {
		e.p("%s.SetID(&%s, &literal)", e.pkg(persistimplPath), r.schemaVar())
	}
	e.p("return &literal\n}\n")
}

// constructorComment says what ID a new record has.
func (e *emitter) constructorComment(r *record) {
	name, id := r.constructor(), r.idField.goName
	if r.id == idAssigned {
		e.p("// %s returns a pointer to a copy of the literal, whose %s the caller assigns:", name, id)
		e.p("// in the literal, or with CreateWithID.")
		return
	}
	e.p("// %s returns a pointer to a copy of the literal, in which it sets %s, %s.", name, id, r.id.describe())
	e.p("// A literal whose %s is set already panics: such a record is for CreateWithID.", id)
	if r.id == idKazahana {
		e.p("// Before persistable.Open %s stays zero, and Create makes it.", id)
	}
}
