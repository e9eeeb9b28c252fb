// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/types"
	"strings"
)

// parameters names the constructor's parameter of each field.
func (e *emitter) parameters(r *record) map[*field]string {
	var goNames []string
	for _, f := range r.message.ordered() {
		goNames = append(goNames, f.goName)
	}
	names := map[*field]string{}
	list := e.model.parameterNames(goNames, "db", "s")
	for i, f := range r.message.ordered() {
		names[f] = list[i]
	}
	return names
}

// ordered returns the fields in declaration order: message.fields has the ID
// first.
func (m *message) ordered() []*field {
	var list []*field
	var walk func([]*slot)
	walk = func(slots []*slot) {
		for _, s := range slots {
			if s.field != nil {
				list = append(list, s.field)
			}
			walk(s.embedded)
		}
	}
	walk(m.literal)
	return list
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

// makeID is the expression that makes a new ID, or "".
func (e *emitter) makeID(r *record) string {
	t := r.idField.typ.goType
	made := ""
	switch r.id {
	case idKazahana:
		return e.pkg(idgenPath) + ".NewID()"
	case idULID:
		return e.pkg(idgenPath) + ".NewULID()"
	case idULIDString:
		made = e.pkg(idgenPath) + ".NewULIDString()"
		if types.Identical(t, types.Typ[types.String]) {
			return made
		}
	case idUUID:
		made = e.pkg(idgenPath) + ".NewUUID()"
	default:
		return ""
	}
	return fmt.Sprintf("%s(%s)", e.typ(t), made)
}

// constructor writes NewOrder.
func (e *emitter) constructor(r *record) {
	names := e.parameters(r)
	var fields []*field
	values := map[*field]string{r.idField: e.makeID(r)}
	for _, f := range r.message.ordered() {
		if f != r.idField {
			fields = append(fields, f)
			values[f] = names[f]
		}
	}
	e.p("// %s returns %s %s.", r.constructor(), article(r.goName), r.idComment())
	e.p("func %s(%s) *%s {", r.constructor(), e.signature(fields, names), r.goName)
	e.p("return &%s{", r.goName)
	e.literal(r.message.literal, values)
	e.p("}\n}\n")
}

// idComment says what ID a new record has.
func (r *record) idComment() string {
	switch r.id {
	case idAssigned:
		return "without an ID: set " + r.idField.goName + ", or call CreateWithID"
	default:
		return "with an ID of its own, " + r.id.describe()
	}
}

// literal writes the elements of a composite literal.
func (e *emitter) literal(slots []*slot, values map[*field]string) {
	for _, s := range slots {
		switch {
		case s.field != nil:
			if value := values[s.field]; value != "" {
				e.p("%s: %s,", s.goName, value)
			}
		default:
			e.p("%s: %s{", s.goName, e.typ(s.typ))
			e.literal(s.embedded, values)
			e.p("},")
		}
	}
}

// article puts "a" or "an" before a noun.
func article(noun string) string {
	if strings.ContainsRune("AEIOaeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
