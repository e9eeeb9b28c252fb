// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// schema writes the variable that tells the run-time about a type.
func (e *emitter) schema(r *record) {
	persistable, id := e.pkg(persistablePath), e.typ(r.idField.typ.goType)
	e.p("// %s is what the run-time knows of %s.", r.schemaVar(), r.goName)
	e.p("var %s = %s.Schema[%s, %s]{", r.schemaVar(), persistable, r.goName, id)
	e.p("Type: %q,", r.name)
	e.p("Directory: []%s.PathElement{%s},", persistable, pathElements(r.directory))
	if r.scatter.shards != 0 {
		e.p("Scatter: %d,", r.scatter.shards)
	}
	e.p("Lock: %s,", rawString(r.lock))
	selector := r.idField.selector("v")
	e.p("ID: func(v *%s) %s { return %s },", r.goName, id, selector)
	e.p("SetID: func(v *%s, id %s) { %s = id },", r.goName, id, selector)
	e.schemaID(r, id)
	if len(r.directory.fields()) > 0 {
		e.checkArgs(r)
	}
	e.schemaCodec(r)
	e.schemaIndexes(r)
	e.p("}\n")
}

// rawString spells a text of several lines as a literal.
func rawString(text string) string {
	if strings.Contains(text, "`") {
		return strconv.Quote(text)
	}
	return "`" + text + "`"
}

func pathElements(d directory) string {
	var list []string
	for _, element := range d.elements {
		switch {
		case element.field == "":
			list = append(list, fmt.Sprintf("{Name: %q}", element.name))
		case element.layer != "":
			list = append(list, fmt.Sprintf("{Field: %q, Layer: %q}", element.field, element.layer))
		default:
			list = append(list, fmt.Sprintf("{Field: %q}", element.field))
		}
	}
	return strings.Join(list, ", ")
}

// schemaID writes how IDs are made, recognized and packed.
func (e *emitter) schemaID(r *record, id string) {
	persistable, k := e.pkg(persistablePath), r.idField.typ
	switch r.id {
	case idKazahana:
		e.p("NewID: %s.KazahanaID,", persistable)
	case idULID:
		e.p("NewID: %s.ULID,", persistable)
	case idUUID:
		e.p("NewID: %s.UUID[%s],", persistable, id)
	case idULIDString:
		if types.Identical(k.goType, types.Typ[types.String]) {
			e.p("NewID: %s.ULIDString,", persistable)
			break
		}
		e.p("NewID: func(ctx %s.Context) (%s, error) {", e.pkg("context"), id)
		e.p("id, err := %s.ULIDString(ctx)\nreturn %s(id), err\n},", persistable, id)
	}
	switch k.form {
	case formBool, formFloat32, formFloat64: // every value is an ID
	case formBytes:
		e.p("IsZeroID: func(id %s) bool { return len(id) == 0 },", id)
	default:
		e.p("IsZeroID: %s.IsZero[%s],", persistable, id)
	}
	e.p("AppendID: %s,", e.keyEncoder(k))
	e.p("ReadID: %s,", e.keyDecoder(k))
}

// checkArgs writes the comparison of a record's {Field}s with a store's
// arguments.
func (e *emitter) checkArgs(r *record) {
	e.p("CheckArgs: func(v *%s, args []string) (field, got string, ok bool) {", r.goName)
	i := 0
	for _, element := range r.directory.elements {
		if element.bound == nil {
			continue
		}
		value := e.toArgument(element.bound, element.bound.selector("v"))
		e.p("if got := %s; got != args[%d] {\nreturn %q, got, false\n}", value, i, element.field)
		i++
	}
	e.p("return \"\", \"\", true\n},")
}

// schemaCodec names the functions that encode and decode the record.
func (e *emitter) schemaCodec(r *record) {
	m := r.message
	if m.recursive {
		e.p("Encode: func(b []byte, v *%s) ([]byte, error) { return append%s(b, v, %d) },", r.goName, m.function, maxDepth)
		e.p("Decode: func(b []byte, v *%s) error { return decode%s(b, v, %d) },", r.goName, m.function, maxDepth)
	} else {
		e.p("Encode: append%s,", m.function)
		e.p("Decode: decode%s,", m.function)
	}
	e.p("Known: &%s,", m.knownVar())
}

// schemaIndexes writes the indexes and the entries that a record has in them.
func (e *emitter) schemaIndexes(r *record) {
	if len(r.indexes) == 0 {
		return
	}
	index := e.pkg(indexPath)
	e.p("Indexes: []%s.IndexOf[%s]{", e.pkg(persistablePath), r.goName)
	for _, d := range r.indexes {
		var names []string
		for _, c := range d.components {
			names = append(names, fmt.Sprintf("%q", c.name()))
		}
		e.p("{")
		options := ""
		if d.unique {
			options += ", Unique: true"
		}
		if d.cover {
			options += ", Cover: true"
		}
		if d.scatter.shards != 0 {
			options += fmt.Sprintf(", Scatter: %d", d.scatter.shards)
		}
		if sparse := d.sparse(); len(sparse) > 0 {
			options += fmt.Sprintf(", Sparse: %#v", sparse)
		}
		e.p("Definition: %s.Definition{Name: %q, Fields: []string{%s}%s, Signature: %q},",
			index, d.name, strings.Join(names, ", "), options, d.signature())
		e.p("Entries: func(e *%s.Entries, v *%s) {", index, r.goName)
		e.entries(d)
		e.p("},\n},")
	}
	e.p("},")
}

// entries writes the body of Entries: one entry, or one per element of a slice.
func (e *emitter) entries(d *indexDef) {
	for _, c := range d.components {
		if d.unique && c.nullable {
			e.p("if %s {\nreturn // null: the record is not in the index\n}", strings.Join(c.nils(), " || "))
		}
	}
	var slice *component
	for _, c := range d.components {
		if c.slice {
			slice = c
			e.p("for _, element := range %s {", c.selector())
		}
	}
	e.p("k := e.Begin()")
	for _, c := range d.components {
		e.entryComponent(d, c)
	}
	e.p("e.End(k)")
	if slice != nil {
		e.p("}")
	}
}

// entryComponent appends one component of a record to the key k.
func (e *emitter) entryComponent(d *indexDef, c *component) {
	value := c.selector()
	last := c.steps[len(c.steps)-1].typ.form == formPointer
	switch {
	case c.slice:
		e.p("k = %s", e.appendKey(c.element, "k", "element"))
	case c.nullable && !d.unique && last && len(c.nils()) == 1:
		e.p("k = %s", e.componentKey(c, "k", value))
	default:
		if last {
			value = "*" + value
		}
		if !c.nullable || d.unique {
			e.p("k = %s", e.appendKey(c.element, "k", value))
			return
		}
		e.p("if %s {\nk = %s.AppendNil(k)\n} else {\nk = %s\n}", strings.Join(c.nils(), " || "),
			e.pkg(tuplePath), e.appendKey(c.element, "k", value))
	}
}

// selector is the Go expression of the component below v.
func (c *component) selector() string {
	expression := "v"
	for _, s := range c.steps {
		expression = s.selector(expression)
	}
	return expression
}

// nils are the conditions under which the component is null.
func (c *component) nils() []string {
	var list []string
	expression := "v"
	for _, s := range c.steps {
		expression = s.selector(expression)
		if s.typ.form == formPointer {
			list = append(list, expression+" == nil")
		}
	}
	return list
}
