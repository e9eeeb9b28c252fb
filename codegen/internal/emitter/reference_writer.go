// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// referenceWriter writes what the references of a record give.
type referenceWriter struct{ *emitter }

// writeReferences writes the methods that read the records to which fields refer, and what the
// run-time knows of the references. That is not in the declaration of the schema: two types may
// refer to each other.
func (e referenceWriter) writeReferences(r *model.Record) {
	if len(r.References) == 0 {
		return
	}
	for i, one := range r.References {
		e.writeReferenceMethod(r, one, i)
	}
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("func init() { // not in the declarations, which may refer to each other")
	for _, one := range r.References {
		e.printf("%s.Refer(&%s, &%s, %s.Reference{%s})", persistimpl, r.SchemaVar(), one.To.SchemaVar(), persistimpl, e.referenceFields(one))
	}
	e.printf("}\n")
}

// writeReferenceMethod writes the method that reads the records to which a field refers.
func (e referenceWriter) writeReferenceMethod(r *model.Record, one *model.Reference, i int) {
	name, id, to := one.Method(), e.typeName(one.To.IDField.Kind.GoType), e.recordType(one.To)
	e.printf("// %s returns the %s records to which %s of the records in list refers, by their IDs.", name, one.To.GoName, one.Field.GoName())
	e.printf("// It reads each of them once, all in one round; one that does not exist is absent.")
	if back := one.Back(); back != "" {
		e.printf("// %s finds the records that refer to one.", back)
	}
	e.printf("func (s *%s) %s(%s) (map[%s]*%s, error) {", r.StoreType(), name, e.withContext("list []*"+e.recordType(r)), id, to)
	e.printf("return %s.Referred[*%s, %s](ctx, &s.Store, %d, list)\n}\n", e.importPackage(model.PersistimplPath), to, id, i)
}

// referenceFields are the elements of the literal of a reference.
func (e referenceWriter) referenceFields(one *model.Reference) string {
	text := fmt.Sprintf("Field: %q", one.Field.Name())
	if len(one.Args) > 0 {
		text += fmt.Sprintf(", Args: %#v", one.Args)
	}
	if one.IsChecked() {
		text += ", Check: true"
	}
	if one.LooksBack() {
		onDelete := "Restrict"
		if one.Options().Cascade {
			onDelete = "Cascade"
		}
		text += fmt.Sprintf(", OnDelete: %s.%s, Index: %d", e.importPackage(model.PersistimplPath), onDelete, slices.Index(one.From.Indexes, one.Index))
		if len(one.BackArgs) > 0 {
			text += fmt.Sprintf(", BackArgs: %#v", one.BackArgs)
		}
	}
	return text
}
