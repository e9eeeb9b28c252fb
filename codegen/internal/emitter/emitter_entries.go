// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSchemaIndexes writes the indexes, the entries that a record has in them, and the
// fields that entries copy.
func (e *emitter) writeSchemaIndexes(r *model.Record) {
	if len(r.Indexes) == 0 {
		return
	}
	index := e.importPackage(model.IndexPath)
	e.printf("Indexes: []%s.Definition{", index)
	for _, d := range r.Indexes {
		e.writeDefinition(d)
	}
	e.printf("},")
	usesRecord := slices.ContainsFunc(r.Indexes, func(d *model.Index) bool { return len(d.Components) > 0 || d.Of != nil || d.Where != nil })
	e.printf("Entries: func(i int, e *%s.Entries, record any) {", index)
	if usesRecord {
		e.printf("v := record.(*%s)", e.recordType(r))
	}
	e.printf("switch i {")
	for i, d := range r.Indexes {
		e.printf("case %d:", i)
		e.writeEntries(d)
	}
	e.printf("}\n},")
	e.writeCovers(r)
}

// writeDefinition writes the definition of an index.
func (e *emitter) writeDefinition(d *model.Index) {
	text := fmt.Sprintf("{Name: %q", d.Name)
	add := func(name string, set bool, value any) {
		if set {
			text += fmt.Sprintf(", %s: %#v", name, value)
		}
	}
	var names []string
	for _, c := range d.Components {
		names = append(names, c.Name())
	}
	add("Kind", d.Kind != model.Value, string(d.Kind))
	add("Fields", len(names) > 0, names)
	if d.Of != nil {
		add("Of", true, d.Of.Name())
	}
	add("Descending", len(d.Descending()) > 0, d.Descending())
	add("Unique", d.Unique, true)
	add("Cover", d.Cover, true)
	add("CoverFields", len(d.CoverFields) > 0, d.CoverNames())
	add("Where", d.Where != nil, d.Where.Text())
	add("Scatter", d.Scatter.Shards != 0, d.Scatter.Shards)
	add("Sparse", len(d.SparseFields()) > 0, d.SparseFields())
	add("Signature", d.Signature() != "", d.Signature())
	e.printf("%s},", text)
}

// writeEntries writes the body of Entries: one entry, or one per element of a slice, if
// the record fulfils the condition of the index.
func (e *emitter) writeEntries(d *model.Index) {
	var closing []string
	open := func(format string, args ...any) {
		e.printf(format, args...)
		closing = append(closing, "}")
	}
	if d.Where != nil {
		open("if %s {", d.Where.Condition())
	}
	if d.Of != nil && d.Of.Nullable {
		var conditions []string
		for _, null := range d.Of.NullConditions() {
			conditions = append(conditions, strings.Replace(null, "==", "!=", 1))
		}
		open("if %s { // null adds nothing", strings.Join(conditions, " && "))
	}
	for _, c := range d.Components {
		if d.Unique && c.Nullable {
			e.printf("if %s {\nreturn // null: the record is not in the index\n}", strings.Join(c.NullConditions(), " || "))
		}
	}
	for _, c := range d.Components {
		if c.Slice {
			open("for _, element := range %s {", c.Selector())
		}
	}
	e.printf("k := e.Begin()")
	declare := ":="
	for _, c := range d.Components {
		if c.Descending {
			e.printf("n %s len(k)", declare)
			declare = "="
		}
		e.writeEntryComponent(d, c)
		if c.Descending {
			e.printf("k = %s.Descend(k, n)", e.importPackage(model.IndexPath))
		}
	}
	e.writeEntryEnd(d)
	if len(closing) > 0 {
		e.printf("%s", strings.Join(closing, "\n"))
	}
}

// writeEntryEnd completes an entry: that of a sum with what the record adds.
func (e *emitter) writeEntryEnd(d *model.Index) {
	if d.Of == nil {
		e.printf("e.End(k)")
		return
	}
	function, basic := "IntAmount", "int64"
	if d.Of.Element.Form == model.FormUint {
		function, basic = "UintAmount", "uint64"
	}
	value := d.Of.Value()
	if e.typeName(d.Of.Element.GoType) != basic {
		value = fmt.Sprintf("%s(%s)", basic, value)
	}
	e.printf("e.EndAmount(k, %s.%s(%s))", e.importPackage(model.IndexPath), function, value)
}

// writeEntryComponent appends one component of a record to the key k, in ascending order.
func (e *emitter) writeEntryComponent(d *model.Index, c *model.Component) {
	value := c.Selector()
	last := c.Steps[len(c.Steps)-1].Kind.Form == model.FormPointer
	switch {
	case c.Slice:
		e.printf("k = %s", e.appendKey(c.Element, "k", "element"))
	case c.Nullable && !d.Unique && last && len(c.NullConditions()) == 1:
		e.printf("k = %s", e.ascendingKey(c, "k", value))
	default:
		value = c.Value()
		if !c.Nullable || d.Unique {
			e.printf("k = %s", e.appendKey(c.Element, "k", value))
			return
		}
		e.printf("if %s {\nk = %s.AppendNil(k)\n} else {\nk = %s\n}", strings.Join(c.NullConditions(), " || "),
			e.importPackage(model.TuplePath), e.appendKey(c.Element, "k", value))
	}
}
