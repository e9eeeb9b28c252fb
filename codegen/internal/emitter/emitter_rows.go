// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeRowTypes writes the types of the rows of indexes that copy chosen fields, with the
// functions that read them from entries.
func (e *emitter) writeRowTypes(r *model.Record) {
	for _, d := range r.Indexes {
		if len(d.CoverFields) > 0 {
			e.writeRowType(r, d)
			e.writeRowReader(r, d)
		}
	}
}

// writeRowType writes the type of the rows of one index.
func (e *emitter) writeRowType(r *model.Record, d *model.Index) {
	e.printf("// %s is what the index %s has of a record.", d.RowType(r), d.Name)
	e.printf("type %s struct {", d.RowType(r))
	e.printf("%s %s", r.IDField.GoName, e.typeName(r.IDField.Kind.GoType))
	for _, c := range d.Components {
		e.printf("%s %s", c.GoName(), e.componentType(c))
	}
	for _, f := range d.CoverFields {
		e.printf("%s %s", f.GoName, e.typeName(f.Kind.GoType))
	}
	e.printf("}\n")
}

// writeRowReader writes the function that reads a row from an entry.
func (e *emitter) writeRowReader(r *model.Record, d *model.Index) {
	name := model.Reader(d.RowType(r))
	e.printf("// %s reads a row from an entry.", name)
	e.printf("func %s(row *%s.Row) (v %s, err error) {", name, e.importPackage(model.PersistimplPath), d.RowType(r))
	e.printf("s := &row.Strings")
	e.writeComponentReads(d)
	e.writeIDRead(r, d)
	e.printf("r := s.NewReader(row.Cover)")
	e.printf("for r.Next() {\nswitch r.Field() {")
	for _, f := range coveredFields(d) {
		e.printf("case %d:", f.Number)
		e.writeFieldDecoder(r.Message, &model.Field{GoName: f.GoName, Kind: f.Kind, Number: f.Number, Short: true})
	}
	e.printf("default:\nr.Skip()\n}\n}\nreturn v, r.Err()\n}\n")
}

// writeComponentReads reads the values of a row's index.
func (e *emitter) writeComponentReads(d *model.Index) {
	e.printf("rest := row.Values")
	for _, c := range d.Components {
		decoder := e.componentDecoder(c) + "("
		if c.Element.Form == model.FormString && !c.Nullable && !c.Descending {
			decoder = fmt.Sprintf("%s.ReadString[%s](row, ", e.importPackage(model.PersistimplPath), e.typeName(c.Element.GoType))
		}
		e.printf("if v.%s, rest, err = %srest); err != nil {\nreturn v, err\n}", c.GoName(), decoder)
	}
}

// writeIDRead reads the id, which comes behind the values unless the index is unique, and
// checks that nothing comes behind it.
func (e *emitter) writeIDRead(r *model.Record, d *model.Index) {
	from := "rest"
	if d.Unique {
		from = "row.ID"
	}
	e.printf("if v.%s, rest, err = %s(%s); err != nil {\nreturn v, err\n}", r.IDField.GoName, e.keyDecoder(r.IDField.Kind), from)
	e.printf("if err = %s.CheckEnd(rest); err != nil {\nreturn v, err\n}", e.importPackage(model.PersistimplPath))
}

// writeRowMethod writes a method that returns rows, where another of almost the same name
// returns the records.
func (e *emitter) writeRowMethod(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	parameters, names := e.methodParameters(m)
	persistable, persistimpl, row := e.importPackage(model.PersistablePath), e.importPackage(model.PersistimplPath), d.RowType(r)
	receiver := fmt.Sprintf("func (s *%s) %s", r.StoreType(), m.Name)
	if m.Kind == model.MethodUniqueRow {
		e.printf("// %s returns what the index has of the %s with %s, or %s.ErrNotFound. It does not read the record.",
			m.Name, r.GoName, values(m.Equal), persistable)
		e.writeConditionComment(d)
		e.printf("%s(%s) (%s, error) {", receiver, e.withContext(parameters), row)
		key := e.keyExpression(m.Equal, names)
		e.printf("return %s.Rows(%s.Query(&s.Store, %d, %s), %s).First(ctx)\n}\n", persistimpl, persistimpl, i, key, model.Reader(d.RowType(r)))
		return
	}
	records := m.Name[:len(m.Name)-len("Rows")]
	result, function := fmt.Sprintf("RowQuery[%s]", row), "Rows"
	if m.Kind != model.MethodEqualRows {
		result, function = fmt.Sprintf("RowRange[%s, %s]", row, e.componentType(m.Next)), "RowRange"
	}
	e.printf("// %s is %s for what the index has of the records. It does not read them.", m.Name, records)
	e.writeConditionComment(d)
	e.printf("%s(%s) *%s.%s {", receiver, parameters, persistable, result)
	e.printf("return %s.%s(s.%s(%s), %s)\n}\n", persistimpl, function, records, strings.Join(names, ", "), model.Reader(d.RowType(r)))
}
