// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeConstructor writes NewOrder, whose labelled arguments are a struct literal.
func (e *emitter) writeConstructor(r *model.Record) {
	e.writeConstructorComment(r)
	pointer, literal := e.literalOf(r)
	e.printf("func %s(literal %s%s) *%s {", r.Constructor(), pointer, e.recordType(r), e.recordType(r))
	if r.IDKind != model.IDAssigned {
		e.printf("%s.SetID(&%s, %s)", e.importPackage(model.PersistimplPath), r.SchemaVar(), literal)
	}
	e.printf("return %s\n}\n", literal)
}

// literalOf is how constructors take the literal of a record, and the pointer to it. A
// record that holds a lock cannot be copied, so they take its address.
func (e *emitter) literalOf(r *model.Record) (pointer, literal string) {
	if model.HoldsLock(r.Message.Named) {
		return "*", "literal"
	}
	return "", "&literal"
}

// writeConstructorComment says what ID a new record has.
func (e *emitter) writeConstructorComment(r *model.Record) {
	name, id, result := r.Constructor(), r.IDField.GoName, "a pointer to a copy of the literal"
	if pointer, _ := e.literalOf(r); pointer != "" {
		result = "the literal itself, because it holds a lock"
	}
	if r.IDKind == model.IDAssigned {
		e.printf("// %s returns %s, whose %s the caller assigns:", name, result, id)
		e.printf("// in the literal, or with CreateWithID.")
		return
	}
	e.printf("// %s returns %s, in which it sets %s, %s.", name, result, id, r.IDKind.Describe())
	e.printf("// A literal whose %s is set already panics: such a record is for CreateWithID.", id)
	if r.IDKind == model.IDKazahana {
		e.printf("// Before persistable.Open, and while several databases are open, %s stays zero,", id)
		e.printf("// and Create makes it; a store's New makes it at once.")
	}
}
