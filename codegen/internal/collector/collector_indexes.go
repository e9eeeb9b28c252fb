// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// nameIndex gives an index the name that was chosen, or that of its fields.
func nameIndex(r *model.Record, d *model.Index, name string) *model.Index {
	if name != "" {
		d.Name = model.IndexName(r.Name, name)
		return d
	}
	var names []string
	for _, c := range d.Components {
		names = append(names, c.Name())
	}
	d.Name = model.IndexName(r.Name, names...)
	return d
}

// resolveIndex resolves an Index or Unique marker, or returns nil after a fault.
func (c *collector) resolveIndex(r *model.Record, m markerIndex) *model.Index {
	var components []*model.Component
	slices := 0
	ok := true
	for _, w := range m.options.Fields {
		at := m.site.inTag(w.Offset)
		steps, message := findSteps(r.Message, w.Text)
		var one *model.Component
		if message == "" {
			one, message = c.newComponent(steps)
		}
		if one != nil && one.Slice {
			if slices++; slices > 1 {
				message = "a second slice in one index; entries would multiply"
			}
		}
		switch {
		case message != "":
			c.Add(at, r.GoName, "%s", message)
			ok = false
		case one == nil: // the field's own fault was reported
			ok = false
		case len(steps) == 1 && steps[0] == r.IDField:
			c.Add(at, r.GoName, "the ID ends every index entry already; remove %s", w.Text)
			ok = false
		}
		components = append(components, one)
	}
	if !ok {
		return nil
	}
	scatter := m.options.Scatter
	if scatter.Shards != 0 {
		scatter.At = m.site.inTag(scatter.Offset)
	}
	if m.unique && scatter.Shards != 0 {
		c.Add(scatter.At, r.GoName, tags.UniqueScatter)
	}
	return nameIndex(r, &model.Index{
		Unique: m.unique, Cover: m.options.Cover, Scatter: scatter,
		At: m.site.inTag(m.options.Fields[0].Offset), Components: components,
	}, m.options.Name)
}

// addFieldIndexes adds the indexes that field options ask for.
func (c *collector) addFieldIndexes(r *model.Record) {
	for _, f := range r.Message.Fields {
		if f == r.IDField || !f.Options.Index && !f.Options.Unique {
			continue
		}
		at := f.OptionAt("index")
		if f.Options.Unique {
			at = f.OptionAt("unique")
		}
		one, message := c.newComponent([]*model.Field{f})
		if message != "" {
			c.Add(at, f.Subject, "%s", message)
		}
		if one != nil && message == "" {
			r.Indexes = append(r.Indexes, nameIndex(r, &model.Index{
				Unique: f.Options.Unique, Cover: f.Options.Cover, Scatter: scatterOf(f),
				At: at, Components: []*model.Component{one},
			}, ""))
		}
	}
}

// scatterOf returns the field's option with its position.
func scatterOf(f *model.Field) tags.Scatter {
	s := f.Options.Scatter
	if s.Shards != 0 {
		s.At = f.OptionAt("scatter")
	}
	return s
}

// newComponent checks that the last of the steps can be part of a key. It returns
// nil, without a message, where a field's own fault was reported already.
func (c *collector) newComponent(steps []*model.Field) (*model.Component, string) {
	one := &model.Component{Steps: steps}
	for _, s := range steps {
		if s.Kind == nil {
			return nil, ""
		}
		one.Nullable = one.Nullable || s.Kind.Form == model.FormPointer
	}
	k := steps[len(steps)-1].Kind
	switch k.Form {
	case model.FormPointer:
		k = k.Elem
	case model.FormSlice:
		k, one.Slice = k.Elem, true
		if one.Nullable {
			return nil, fmt.Sprintf("%s is a slice behind a pointer and cannot be indexed; hold the struct by value", one.Name())
		}
	}
	one.Element = k
	return one, c.whyNotIndexed(one, k)
}

// whyNotIndexed returns why a kind cannot be part of a key, or "".
func (c *collector) whyNotIndexed(one *model.Component, k *model.Kind) string {
	text := c.typeText(k.GoType)
	switch k.Form {
	case model.FormMap:
		return fmt.Sprintf("a map such as %s cannot be indexed", text)
	case model.FormMessage:
		example := "Field"
		if len(k.Message.Fields) > 0 {
			example = k.Message.Fields[0].GoName
		}
		if one.Slice {
			return fmt.Sprintf("a slice of structs such as []%s cannot be indexed; keep the values to be found in a slice of their own", text)
		}
		return fmt.Sprintf("the struct %s cannot be indexed; name one of its fields in an Index marker: %s.%s", text, one.Name(), example)
	case model.FormBinary, model.FormText:
		return fmt.Sprintf("%s cannot be indexed, because the order of what it marshals to is not known; index a field of a basic type", text)
	}
	return ""
}

// bindDirectory resolves the {Field}s of the directory.
func (c *collector) bindDirectory(r *model.Record, site fieldSite) {
	for i := range r.Directory.Elements {
		e := &r.Directory.Elements[i]
		if e.Field == "" {
			continue
		}
		at := site.inTag(e.Offset + 1)
		f := r.Message.FindField(e.Field)
		if f == nil {
			c.Add(at, r.GoName, "%s has no field %s%s", r.GoName, e.Field, tags.Suggest(e.Field, r.Message.FieldNames()))
			continue
		}
		e.Bound = f
		if f.Kind == nil {
			continue
		}
		switch f.Kind.Form {
		case model.FormString, model.FormInt, model.FormUint, model.FormID:
			if f == r.IDField {
				c.Add(at, r.GoName, "the ID cannot be part of the directory: a record is found in its directory by its ID")
			}
		default:
			c.Add(at, r.GoName, "field %s is of type %s; a {Field} of the directory is a string, an integer or an idgen.ID",
				e.Field, c.typeText(f.Kind.GoType))
		}
	}
}
