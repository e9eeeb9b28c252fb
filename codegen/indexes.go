// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"
)

// indexName is the name of an index in keys: type and names joined by "_",
// underscores inside a name doubled, as index.Name has it.
func indexName(typ string, names ...string) string {
	parts := []string{strings.ReplaceAll(typ, "_", "__")}
	for _, name := range names {
		parts = append(parts, strings.ReplaceAll(name, "_", "__"))
	}
	return strings.Join(parts, "_")
}

// nameIndex gives an index the name that was chosen, or that of its fields.
func nameIndex(r *record, d *indexDef, name string) *indexDef {
	if name != "" {
		d.name = indexName(r.name, name)
		return d
	}
	var names []string
	for _, c := range d.components {
		names = append(names, c.name())
	}
	d.name = indexName(r.name, names...)
	return d
}

// markedIndex resolves an Index or Unique marker, or returns nil after a fault.
func (c *collector) markedIndex(r *record, m markerIndex) *indexDef {
	var components []*component
	slices := 0
	ok := true
	for _, w := range m.options.fields {
		at := m.site.inTag(w.at)
		steps, message := findSteps(r.message, w.text)
		var one *component
		if message == "" {
			one, message = c.component(steps)
		}
		if one != nil && one.slice {
			if slices++; slices > 1 {
				message = "a second slice in one index; entries would multiply"
			}
		}
		switch {
		case message != "":
			c.add(at, r.goName, "%s", message)
			ok = false
		case one == nil: // the field's own fault was reported
			ok = false
		case len(steps) == 1 && steps[0] == r.idField:
			c.add(at, r.goName, "the ID ends every index entry already; remove %s", w.text)
			ok = false
		}
		components = append(components, one)
	}
	if !ok {
		return nil
	}
	scatter := m.options.scatter
	if scatter.shards != 0 {
		scatter.at = m.site.inTag(scatter.offset)
	}
	if m.unique && scatter.shards != 0 {
		c.add(scatter.at, r.goName, uniqueScatter)
	}
	return nameIndex(r, &indexDef{
		unique: m.unique, cover: m.options.cover, scatter: scatter,
		at: m.site.inTag(m.options.fields[0].at), components: components,
	}, m.options.name)
}

// fieldIndexes adds the indexes that field options ask for.
func (c *collector) fieldIndexes(r *record) {
	for _, f := range r.message.fields {
		if f == r.idField || !f.options.index && !f.options.unique {
			continue
		}
		at := f.optionAt("index")
		if f.options.unique {
			at = f.optionAt("unique")
		}
		one, message := c.component([]*field{f})
		if message != "" {
			c.add(at, f.subject, "%s", message)
		}
		if one != nil && message == "" {
			r.indexes = append(r.indexes, nameIndex(r, &indexDef{
				unique: f.options.unique, cover: f.options.cover, scatter: scatterOf(f),
				at: at, components: []*component{one},
			}, ""))
		}
	}
}

// findSteps resolves a field name, or a path through nested structs, to fields,
// or returns why it cannot.
func findSteps(m *message, path string) (steps []*field, reason string) {
	for i, name := range strings.Split(path, ".") {
		if m == nil {
			return nil, fmt.Sprintf("%s is not a struct, so it has no field %s", steps[i-1].goName, name)
		}
		f := m.find(name)
		if f == nil {
			return nil, fmt.Sprintf("%s has no field %s", m.goName, name) + suggestField(m, name, i == 0)
		}
		steps = append(steps, f)
		m = f.nested()
	}
	return steps, ""
}

// find returns the field with that Go name, the shallowest as Go's rules have
// it.
func (m *message) find(name string) *field {
	var best *field
	for _, f := range m.fields {
		if f.goName == name && (best == nil || len(f.path) < len(best.path)) {
			best = f
		}
	}
	return best
}

// scatterOf returns the field's option with its position.
func scatterOf(f *field) scatter {
	s := f.options.scatter
	if s.shards != 0 {
		s.at = f.optionAt("scatter")
	}
	return s
}

// suggestField suggests the field nearest to a misspelt one or, in the first place of a
// path, the option cover if that is as near.
func suggestField(m *message, name string, first bool) string {
	words := m.goNames()
	if first {
		words = append([]string{"cover"}, words...)
	}
	if text := didYouMean(name, words); text != "; did you mean cover?" {
		return text
	}
	return "; did you mean the option cover?"
}

func (m *message) goNames() []string {
	var names []string
	for _, f := range m.fields {
		names = append(names, f.goName)
	}
	return names
}

// nested returns the message that a field holds once, by value or by pointer.
func (f *field) nested() *message {
	switch {
	case f.typ == nil:
		return nil
	case f.typ.form == formPointer:
		return f.typ.elem.message
	}
	return f.typ.message
}

// component checks that the last of the steps can be part of a key. It returns
// nil, without a message, where a field's own fault was reported already.
func (c *collector) component(steps []*field) (*component, string) {
	one := &component{steps: steps}
	for _, s := range steps {
		if s.typ == nil {
			return nil, ""
		}
		one.nullable = one.nullable || s.typ.form == formPointer
	}
	k := steps[len(steps)-1].typ
	switch k.form {
	case formPointer:
		k = k.elem
	case formSlice:
		k, one.slice = k.elem, true
		if one.nullable {
			return nil, fmt.Sprintf("%s is a slice behind a pointer and cannot be indexed; hold the struct by value", one.name())
		}
	}
	one.element = k
	return one, c.unindexable(one, k)
}

// unindexable returns why a kind cannot be part of a key, or "".
func (c *collector) unindexable(one *component, k *kind) string {
	text := c.typeText(k.goType)
	switch k.form {
	case formMap:
		return fmt.Sprintf("a map such as %s cannot be indexed", text)
	case formMessage:
		example := "Field"
		if len(k.message.fields) > 0 {
			example = k.message.fields[0].goName
		}
		if one.slice {
			return fmt.Sprintf("a slice of structs such as []%s cannot be indexed; keep the values to be found in a slice of their own", text)
		}
		return fmt.Sprintf("the struct %s cannot be indexed; name one of its fields in an Index marker: %s.%s", text, one.name(), example)
	case formBinary, formText:
		return fmt.Sprintf("%s cannot be indexed, because the order of what it marshals to is not known; index a field of a basic type", text)
	}
	return ""
}

// bindDirectory resolves the {Field}s of the directory.
func (c *collector) bindDirectory(r *record, site fieldSite) {
	for i := range r.directory.elements {
		e := &r.directory.elements[i]
		if e.field == "" {
			continue
		}
		at := site.inTag(e.at + 1)
		f := r.message.find(e.field)
		if f == nil {
			c.add(at, r.goName, "%s has no field %s%s", r.goName, e.field, didYouMean(e.field, r.message.goNames()))
			continue
		}
		e.bound = f
		if f.typ == nil {
			continue
		}
		switch f.typ.form {
		case formString, formInt, formUint, formID:
			if f == r.idField {
				c.add(at, r.goName, "the ID cannot be part of the directory: a record is found in its directory by its ID")
			}
		default:
			c.add(at, r.goName, "field %s is of type %s; a {Field} of the directory is a string, an integer or an idgen.ID",
				e.field, c.typeText(f.typ.goType))
		}
	}
}

// signature names the kinds of the components, which decide the bytes of keys.
// A field that may be null is another kind: the zero of a field without null is
// not in the record, and would be read as null.
func (d *indexDef) signature() string {
	kinds := make([]string, len(d.components))
	for i, one := range d.components {
		kinds[i] = one.element.keyText()
		if one.nullable {
			kinds[i] = "*" + kinds[i]
		}
		if one.slice {
			kinds[i] = "[]" + kinds[i]
		}
	}
	return strings.Join(kinds, ",")
}

// lockSignature is all that the entries depend on.
func (d *indexDef) lockSignature() string {
	text := d.fieldNames() + " " + d.signature()
	if d.cover {
		text += " cover"
	}
	if d.scatter.shards != 0 {
		text += " scatter=" + d.scatter.text()
	}
	return text
}
