// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeQueryMethod writes one query method.
func (e *emitter) writeQueryMethod(r *model.Record, d *model.Index, i int, m model.QueryMethod) {
	switch m.Kind {
	case model.MethodUnique, model.MethodEqual, model.MethodRange, model.MethodOrdered:
		e.writeMethodComment(r, d, m)
		e.writeRecordMethod(r, i, m)
	case model.MethodUniqueRow, model.MethodEqualRows, model.MethodRangeRows, model.MethodOrderedRows:
		e.writeRowMethod(r, d, i, m)
	case model.MethodRankOf, model.MethodNth, model.MethodTop, model.MethodPercentile:
		e.writeRankMethod(r, d, i, m)
	default:
		e.writeAggregateMethod(r, d, i, m)
	}
}

// writeRecordMethod writes a method that returns records.
func (e *emitter) writeRecordMethod(r *model.Record, i int, m model.QueryMethod) {
	parameters, names := e.methodParameters(m)
	persistable, persistimpl := e.importPackage(model.PersistablePath), e.importPackage(model.PersistimplPath)
	receiver := fmt.Sprintf("func (s *%s) %s", r.StoreType(), m.Name)
	switch m.Kind {
	case model.MethodUnique:
		e.printf("%s(%s) (*%s, error) {", receiver, e.withContext(parameters), e.recordType(r))
		e.printf("return %s.Unique(ctx, &s.Store, %d, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names))
	case model.MethodEqual:
		e.printf("%s(%s) *%s.Query[*%s] {", receiver, parameters, persistable, e.recordType(r))
		e.printf("return %s.Query(&s.Store, %d, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names))
	default:
		e.printf("%s(%s) *%s.RangeQuery[*%s, %s] {", receiver, parameters, persistable, e.recordType(r), e.componentType(m.Next))
		e.printf("return %s.%sRange(&s.Store, %d, %s, %s)\n}\n", persistimpl, direction(m.Next), i, e.keyExpression(m.Equal, names), e.componentEncoder(m.Next))
	}
}

// direction begins the name of the function that reads a range of a component.
func direction(c *model.Component) string {
	if c.Descending {
		return "Descending"
	}
	return ""
}

// methodParameters lists the parameters of a method and their names, which the others
// follow.
func (e *emitter) methodParameters(m model.QueryMethod, others ...string) (list string, names []string) {
	names = e.componentParameters(m.Equal, others...)
	var parameters []string
	for n, c := range m.Equal {
		parameters = append(parameters, names[n]+" "+e.componentType(c))
	}
	return strings.Join(parameters, ", "), names
}

// withContext puts a context before parameters.
func (e *emitter) withContext(parameters string) string {
	ctx := "ctx " + e.importPackage("context") + ".Context"
	if parameters == "" {
		return ctx
	}
	return ctx + ", " + parameters
}

// writeMethodComment writes the doc comment of a query method.
func (e *emitter) writeMethodComment(r *model.Record, d *model.Index, m model.QueryMethod) {
	what := values(m.Equal)
	switch m.Kind {
	case model.MethodUnique:
		e.printf("// %s returns the %s with %s, or %s.ErrNotFound.", m.Name, r.GoName, what, e.importPackage(model.PersistablePath))
	case model.MethodEqual:
		e.printf("// %s returns the records with %s, in the order of their IDs.", m.Name, what)
	case model.MethodRange:
		e.printf("// %s returns the records with %s, in the %s of %s; a range of it can be chosen.", m.Name, what, descent(m.Next), order(m.Next))
	case model.MethodOrdered:
		e.printf("// %s returns the records in the %s of %s; a range of it can be chosen.", m.Name, descent(m.Next), order(m.Next))
	}
	e.writeConditionComment(d)
}

// writeConditionComment says which records a partial index has.
func (e *emitter) writeConditionComment(d *model.Index) {
	if d.Where != nil {
		e.printf("// Only records that fulfil %s are taken into account.", d.Where.Text())
	}
}

// descent names the direction of a component.
func descent(c *model.Component) string {
	if c.Descending {
		return "descending order"
	}
	return "order"
}

// values names the parameters of a method in its doc comment: "that A, B and C",
// or, with a slice, "that A and that element of B".
func values(components []*model.Component) string {
	again := ""
	if slices.ContainsFunc(components, func(c *model.Component) bool { return c.Slice }) {
		again = "that "
	}
	var b strings.Builder
	for i, c := range components {
		switch {
		case i == 0:
			b.WriteString("that ")
		case i == len(components)-1:
			b.WriteString(" and " + again)
		default:
			b.WriteString(", " + again)
		}
		if c.Slice {
			b.WriteString("element of ")
		}
		b.WriteString(c.GoName())
	}
	return b.String()
}

// order names what the records of a method are sorted by.
func order(c *model.Component) string {
	if c.Slice {
		return "the elements of " + c.GoName() + ", a record once for each"
	}
	return c.GoName()
}

// writeFieldsVar writes OrderFields.
func (e *emitter) writeFieldsVar(r *model.Record) {
	list := r.QueryFields()
	if len(list) == 0 {
		return
	}
	persistable := e.importPackage(model.PersistablePath)
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("// %s are the indexed fields of %s, for conditions of Find and FindOne.", r.FieldsVar(), r.GoName)
	e.printf("var %s = struct {", r.FieldsVar())
	for _, c := range list {
		e.printf("%s %s.Field[*%s, %s]", c.GoName(), persistable, e.recordType(r), e.componentType(c))
	}
	e.printf("}{")
	for _, c := range list {
		e.printf("%s: %s.Field[*%s](%q, %s),", c.GoName(), persistimpl, e.recordType(r), c.Name(), e.componentEncoder(c))
	}
	e.printf("}\n")
}
