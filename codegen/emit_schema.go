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
	persistimpl := e.pkg(persistimplPath)
	e.p("// %s is what the run-time knows of %s.", r.schemaVar(), r.goName)
	e.p("var %s = %s.Schema{", r.schemaVar(), persistimpl)
	e.p("Type: %q,", r.name)
	e.p("Directory: []%s.PathElement{%s},", persistimpl, pathElements(r.directory))
	if r.scatter.shards != 0 {
		e.p("Scatter: %d,", r.scatter.shards)
	}
	e.p("Lock: %s,", rawString(r.lock))
	e.p("IDs: %s,", e.idKind(r))
	e.p("ID: func(v any) any { return &%s },", r.idField.selector(fmt.Sprintf("v.(*%s)", r.goName)))
	if len(r.directory.fields()) > 0 {
		e.checkArgs(r)
		e.fillArgs(r)
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

// idKind is the expression of how IDs are made, recognized and packed.
func (e *emitter) idKind(r *record) string {
	persistimpl, id, k := e.pkg(persistimplPath), e.typ(r.idField.typ.goType), r.idField.typ
	makeID := ""
	switch r.id {
	case idKazahana:
		return persistimpl + ".KazahanaIDs"
	case idULID:
		return persistimpl + ".ULIDs"
	case idULIDString:
		if types.Identical(k.goType, types.Typ[types.String]) {
			return persistimpl + ".ULIDStrings"
		}
		makeID = fmt.Sprintf("New: %s.NewULIDString[%s], ", persistimpl, id)
	case idUUID:
		makeID = fmt.Sprintf("New: %s.NewUUID[%s], ", persistimpl, id)
	}
	return fmt.Sprintf("&%s.IDs[%s]{%s%sAppend: %s, Parse: %s}", persistimpl, id, makeID, e.isZeroID(k, id), e.keyEncoder(k), e.keyDecoder(k))
}

// isZeroID is the element of an IDs literal that recognizes an ID that was not
// set, or "" where every value is an ID.
func (e *emitter) isZeroID(k *kind, id string) string {
	switch k.form {
	case formBool, formFloat32, formFloat64:
		return ""
	case formBytes:
		return fmt.Sprintf("IsZero: func(id %s) bool { return len(id) == 0 }, ", id)
	default:
		return fmt.Sprintf("IsZero: %s.IsZero[%s], ", e.pkg(persistimplPath), id)
	}
}

// checkArgs writes the comparison of a record's {Field}s with a store's
// arguments.
func (e *emitter) checkArgs(r *record) {
	e.p("CheckArgs: func(record any, args []string) (field, got string, ok bool) {\nv := record.(*%s)", r.goName)
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

// fillArgs writes what sets a record's zero {Field}s to a store's arguments.
func (e *emitter) fillArgs(r *record) {
	e.p("FillArgs: func(record any, args []string) {\nv := record.(*%s)", r.goName)
	i := 0
	for _, element := range r.directory.elements {
		if element.bound == nil {
			continue
		}
		fill := "FillString"
		switch element.bound.typ.form {
		case formInt, formID:
			fill = "FillInt"
		case formUint:
			fill = "FillUint"
		}
		e.p("%s.%s(&%s, args[%d])", e.pkg(persistimplPath), fill, element.bound.selector("v"), i)
		i++
	}
	e.p("},")
}

// schemaCodec writes the functions that encode and decode the record.
func (e *emitter) schemaCodec(r *record) {
	m, depth := r.message, ""
	if m.recursive {
		depth = fmt.Sprintf(", %d", maxDepth)
	}
	e.p("Encode: func(b []byte, v any) ([]byte, error) { return append%s(b, v.(*%s)%s) },", m.function, r.goName, depth)
	e.p("Decode: func(b []byte) (any, error) {\nv := new(%s)\nreturn v, decode%s(b, v%s)\n},", r.goName, m.function, depth)
	e.p("Known: &%s,", m.knownVar())
}

// schemaIndexes writes the indexes and the entries that a record has in them.
func (e *emitter) schemaIndexes(r *record) {
	if len(r.indexes) == 0 {
		return
	}
	index := e.pkg(indexPath)
	e.p("Indexes: []%s.Definition{", index)
	for _, d := range r.indexes {
		e.definition(d)
	}
	e.p("},")
	e.p("Entries: func(i int, e *%s.Entries, record any) {\nv := record.(*%s)\nswitch i {", index, r.goName)
	for i, d := range r.indexes {
		e.p("case %d:", i)
		e.entries(d)
	}
	e.p("}\n},")
}

// definition writes the definition of an index.
func (e *emitter) definition(d *indexDef) {
	var names []string
	for _, c := range d.components {
		names = append(names, fmt.Sprintf("%q", c.name()))
	}
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
	e.p("{Name: %q, Fields: []string{%s}%s, Signature: %q},", d.name, strings.Join(names, ", "), options, d.signature())
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
