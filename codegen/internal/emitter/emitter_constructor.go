// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeConstructor writes NewOrder, whose labelled arguments are a struct literal.
func (e *emitter) writeConstructor(r *model.Record) {
	e.writeConstructorComment(r)
	e.printf("func %s(literal %s) *%s {", r.Constructor(), r.GoName, r.GoName)
	if r.IDKind != model.IDAssigned {
		e.printf("%s.SetID(&%s, &literal)", e.importPackage(model.PersistimplPath), r.SchemaVar())
	}
	e.printf("return &literal\n}\n")
}

// writeConstructorComment says what ID a new record has.
func (e *emitter) writeConstructorComment(r *model.Record) {
	name, id := r.Constructor(), r.IDField.GoName
	if r.IDKind == model.IDAssigned {
		e.printf("// %s returns a pointer to a copy of the literal, whose %s the caller assigns:", name, id)
		e.printf("// in the literal, or with CreateWithID.")
		return
	}
	e.printf("// %s returns a pointer to a copy of the literal, in which it sets %s, %s.", name, id, r.IDKind.Describe())
	e.printf("// A literal whose %s is set already panics: such a record is for CreateWithID.", id)
	if r.IDKind == model.IDKazahana {
		e.printf("// Before persistable.Open %s stays zero, and Create makes it.", id)
	}
}
