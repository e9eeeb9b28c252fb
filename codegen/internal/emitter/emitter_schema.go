// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSchema writes the variable that tells the run-time about a type.
func (e *emitter) writeSchema(r *model.Record) {
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("// %s is what the run-time knows of %s.", r.SchemaVar(), r.GoName)
	e.printf("var %s = %s.Schema{", r.SchemaVar(), persistimpl)
	e.printf("Type: %q,", r.Name)
	e.printf("Directory: []%s.PathElement{%s},", persistimpl, pathElements(r.Directory))
	if r.Scatter.Shards != 0 {
		e.printf("Scatter: %d,", r.Scatter.Shards)
	}
	e.printf("Lock: %s,", rawString(r.Lock))
	e.printf("IDs: %s,", e.idExpression(r))
	e.printf("ID: func(v any) any { return &%s },", r.IDField.Selector(fmt.Sprintf("v.(*%s)", e.recordType(r))))
	if len(r.Directory.Fields()) > 0 {
		e.writeCheckArgs(r)
		e.writeFillArgs(r)
	}
	e.writeSchemaCodec(r)
	e.writeSchemaHooks(r)
	if r.VersionField != "" {
		e.printf("Version: func(record any) *[12]byte { return (*[12]byte)(&record.(*%s).%s) },", e.recordType(r), r.VersionField)
	}
	e.writeSchemaIndexes(r)
	e.writeSchemaValues(r)
	e.printf("}\n")
}

// rawString spells a text of several lines as a literal.
func rawString(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

func pathElements(d model.Directory) string {
	var list []string
	for _, element := range d.Elements {
		switch {
		case element.Field == "":
			list = append(list, fmt.Sprintf("{Name: %q}", element.Name))
		case element.Layer != "":
			list = append(list, fmt.Sprintf("{Field: %q, Layer: %q}", element.Field, element.Layer))
		default:
			list = append(list, fmt.Sprintf("{Field: %q}", element.Field))
		}
	}
	return strings.Join(list, ", ")
}

// idExpression is the expression of how IDs are made, recognized and packed.
func (e *emitter) idExpression(r *model.Record) string {
	persistimpl, id, k := e.importPackage(model.PersistimplPath), e.typeName(r.IDField.Kind.GoType), r.IDField.Kind
	makeID := ""
	switch r.IDKind {
	case model.IDKazahana:
		return persistimpl + ".KazahanaIDs"
	case model.IDULID:
		return persistimpl + ".ULIDs"
	case model.IDULIDString:
		if types.Identical(k.GoType, types.Typ[types.String]) {
			return persistimpl + ".ULIDStrings"
		}
		makeID = fmt.Sprintf("New: %s.NewULIDString[%s], ", persistimpl, id)
	case model.IDUUID:
		makeID = fmt.Sprintf("New: %s.NewUUID[%s], ", persistimpl, id)
	}
	return fmt.Sprintf("&%s.IDs[%s]{%s%sAppend: %s, Parse: %s}", persistimpl, id, makeID, e.isZeroID(k, id), e.keyEncoder(k), e.keyDecoder(k))
}

// isZeroID is the element of an IDs literal that recognizes an ID that was not
// set, or "" where every value is an ID.
func (e *emitter) isZeroID(k *model.Kind, id string) string {
	switch k.Form {
	case model.FormBool, model.FormFloat32, model.FormFloat64:
		return ""
	case model.FormBytes:
		return fmt.Sprintf("IsZero: func(id %s) bool { return len(id) == 0 }, ", id)
	default:
		return fmt.Sprintf("IsZero: %s.IsZero[%s], ", e.importPackage(model.PersistimplPath), id)
	}
}

// writeCheckArgs writes the comparison of a record's {Field}s with a store's
// arguments.
func (e *emitter) writeCheckArgs(r *model.Record) {
	e.printf("CheckArgs: func(record any, args []string) (field, got string, ok bool) {\nv := record.(*%s)", e.recordType(r))
	i := 0
	for _, element := range r.Directory.Elements {
		if element.Bound == nil {
			continue
		}
		value := e.argumentOf(element.Bound, element.Bound.Selector("v"))
		e.printf("if got := %s; got != args[%d] {\nreturn %q, got, false\n}", value, i, element.Field)
		i++
	}
	e.printf("return \"\", \"\", true\n},")
}

// writeFillArgs writes what sets a record's zero {Field}s to a store's arguments.
func (e *emitter) writeFillArgs(r *model.Record) {
	e.printf("FillArgs: func(record any, args []string) {\nv := record.(*%s)", e.recordType(r))
	i := 0
	for _, element := range r.Directory.Elements {
		if element.Bound == nil {
			continue
		}
		fill := "FillString"
		switch element.Bound.Kind.Form {
		case model.FormInt, model.FormID:
			fill = "FillInt"
		case model.FormUint:
			fill = "FillUint"
		}
		e.printf("%s.%s(&%s, args[%d])", e.importPackage(model.PersistimplPath), fill, element.Bound.Selector("v"), i)
		i++
	}
	e.printf("},")
}

// writeSchemaCodec writes the functions that encode and decode the record.
func (e *emitter) writeSchemaCodec(r *model.Record) {
	m, depth := r.Message, ""
	if m.Recursive {
		depth = fmt.Sprintf(", %d", maxDepth)
	}
	e.printf("Encode: func(b []byte, v any) ([]byte, error) { return append%s(b, v.(*%s)%s) },", m.Function, e.recordType(r), depth)
	e.printf("Decode: func(b []byte, s *%s.Strings) (any, error) {\nv := new(%s)\nreturn v, decode%s(b, v, s%s)\n},", e.importPackage(model.WirePath), e.recordType(r), m.Function, depth)
	e.printf("Known: &%s,", m.KnownVar())
}
