// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSchemaIndexes writes the indexes and the entries that a record has in them.
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
	e.printf("Entries: func(i int, e *%s.Entries, record any) {\nv := record.(*%s)\nswitch i {", index, r.GoName)
	for i, d := range r.Indexes {
		e.printf("case %d:", i)
		e.writeEntries(d)
	}
	e.printf("}\n},")
}

// writeDefinition writes the definition of an index.
func (e *emitter) writeDefinition(d *model.Index) {
	var names []string
	for _, c := range d.Components {
		names = append(names, fmt.Sprintf("%q", c.Name()))
	}
	options := ""
	if d.Unique {
		options += ", Unique: true"
	}
	if d.Cover {
		options += ", Cover: true"
	}
	if d.Scatter.Shards != 0 {
		options += fmt.Sprintf(", Scatter: %d", d.Scatter.Shards)
	}
	if sparse := d.SparseFields(); len(sparse) > 0 {
		options += fmt.Sprintf(", Sparse: %#v", sparse)
	}
	e.printf("{Name: %q, Fields: []string{%s}%s, Signature: %q},", d.Name, strings.Join(names, ", "), options, d.Signature())
}

// writeEntries writes the body of Entries: one entry, or one per element of a slice.
func (e *emitter) writeEntries(d *model.Index) {
	for _, c := range d.Components {
		if d.Unique && c.Nullable {
			e.printf("if %s {\nreturn // null: the record is not in the index\n}", strings.Join(c.NullConditions(), " || "))
		}
	}
	var slice *model.Component
	for _, c := range d.Components {
		if c.Slice {
			slice = c
			e.printf("for _, element := range %s {", c.Selector())
		}
	}
	e.printf("k := e.Begin()")
	for _, c := range d.Components {
		e.writeEntryComponent(d, c)
	}
	e.printf("e.End(k)")
	if slice != nil {
		e.printf("}")
	}
}

// writeEntryComponent appends one component of a record to the key k.
func (e *emitter) writeEntryComponent(d *model.Index, c *model.Component) {
	value := c.Selector()
	last := c.Steps[len(c.Steps)-1].Kind.Form == model.FormPointer
	switch {
	case c.Slice:
		e.printf("k = %s", e.appendKey(c.Element, "k", "element"))
	case c.Nullable && !d.Unique && last && len(c.NullConditions()) == 1:
		e.printf("k = %s", e.componentKey(c, "k", value))
	default:
		if last {
			value = "*" + value
		}
		if !c.Nullable || d.Unique {
			e.printf("k = %s", e.appendKey(c.Element, "k", value))
			return
		}
		e.printf("if %s {\nk = %s.AppendNil(k)\n} else {\nk = %s\n}", strings.Join(c.NullConditions(), " || "),
			e.importPackage(model.TuplePath), e.appendKey(c.Element, "k", value))
	}
}
