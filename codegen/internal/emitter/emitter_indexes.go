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
	names := e.componentParameters(m.Equal)
	var parameters []string
	for n, c := range m.Equal {
		parameters = append(parameters, names[n]+" "+e.componentType(c))
	}
	persistable, persistimpl := e.importPackage(model.PersistablePath), e.importPackage(model.PersistimplPath)
	e.writeMethodComment(r, m)
	receiver := fmt.Sprintf("func (s *%s) %s", r.StoreType(), m.Name)
	switch m.Kind {
	case model.MethodUnique:
		parameters = append([]string{"ctx " + e.importPackage("context") + ".Context"}, parameters...)
		e.printf("%s(%s) (*%s, error) {", receiver, strings.Join(parameters, ", "), r.GoName)
		e.printf("return %s.Unique(ctx, &s.Store, %d, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names))
	case model.MethodEqual:
		e.printf("%s(%s) *%s.Query[*%s] {", receiver, strings.Join(parameters, ", "), persistable, r.GoName)
		e.printf("return %s.Query(&s.Store, %d, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names))
	default:
		e.printf("%s(%s) *%s.RangeQuery[*%s, %s] {", receiver, strings.Join(parameters, ", "), persistable, r.GoName, e.componentType(m.Next))
		e.printf("return %s.Range(&s.Store, %d, %s, %s)\n}\n", persistimpl, i, e.keyExpression(m.Equal, names), e.componentEncoder(m.Next))
	}
}

// writeMethodComment writes the doc comment of a query method.
func (e *emitter) writeMethodComment(r *model.Record, m model.QueryMethod) {
	what := values(m.Equal)
	switch m.Kind {
	case model.MethodUnique:
		e.printf("// %s returns the %s with %s, or %s.ErrNotFound.", m.Name, r.GoName, what, e.importPackage(model.PersistablePath))
	case model.MethodEqual:
		e.printf("// %s returns the records with %s, in the order of their IDs.", m.Name, what)
	case model.MethodRange:
		e.printf("// %s returns the records with %s, in the order of %s; a range of it can be chosen.", m.Name, what, order(m.Next))
	case model.MethodOrdered:
		e.printf("// %s returns the records in the order of %s; a range of it can be chosen.", m.Name, order(m.Next))
	}
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
	var list []*model.Component
	seen := map[string]bool{}
	for _, d := range r.Indexes {
		for _, c := range d.Components {
			if !seen[c.GoName()] {
				seen[c.GoName()] = true
				list = append(list, c)
			}
		}
	}
	persistable := e.importPackage(model.PersistablePath)
	persistimpl := e.importPackage(model.PersistimplPath)
	e.printf("// %s are the indexed fields of %s, for conditions of Find and FindOne.", r.FieldsVar(), r.GoName)
	e.printf("var %s = struct {", r.FieldsVar())
	for _, c := range list {
		e.printf("%s %s.Field[*%s, %s]", c.GoName(), persistable, r.GoName, e.componentType(c))
	}
	e.printf("}{")
	for _, c := range list {
		e.printf("%s: %s.Field[*%s](%q, %s),", c.GoName(), persistimpl, r.GoName, c.Name(), e.componentEncoder(c))
	}
	e.printf("}\n")
}
