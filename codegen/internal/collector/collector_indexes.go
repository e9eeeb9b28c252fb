// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// nameIndex leaves deleted records out of an index, unless it is to have them, names it, and returns it.
func nameIndex(r *model.Record, d *model.Index, withDeleted bool) *model.Index {
	if d.Written = d.Where; !withDeleted {
		d.Where = r.Present(d.Where)
	}
	d.NameIndex(r.Name)
	return d
}

// checkShared reports what the options of a marker say of deleted records, and cannot be.
func (c *collector) checkShared(r *model.Record, site fieldSite, o tags.MarkerOptions) {
	deleted := r.Deleted()
	if o.WithDeleted && deleted == nil {
		c.Add(site.inTag(o.WithDeletedAt), r.GoName, withoutDeleted, r.GoName)
	}
	for _, one := range o.Where.Comparisons {
		if !o.WithDeleted && deleted != nil && one.Field.Text == deleted.GoName {
			c.Add(site.inTag(one.Field.Offset), r.GoName, "the index leaves deleted records out anyway; remove the comparison, or write withdeleted for an index that has them")
		}
	}
}

// withoutDeleted is the fault of the option withdeleted at an index of a type without such records.
const withoutDeleted = "withdeleted: no field of %s has the option deleted; give it to one of type time.Time or *time.Time, or remove withdeleted"

// resolveIndex resolves an Index or Unique marker, or returns nil after a fault.
func (c *collector) resolveIndex(r *model.Record, m markerIndex) *model.Index {
	c.checkShared(r, m.site, m.options.MarkerOptions)
	components, ok := c.resolveComponents(r, m.site, m.options.Fields, "cover")
	cover, covered := c.resolveCover(r, m, components)
	covered = covered && optionChecker{c}.checkRows(r, m, components)
	where, sound := c.resolveWhere(r, m.site, m.options.Where)
	if !ok || !covered || !sound {
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
		Kind: model.Value, Unique: m.unique, Cover: m.options.Cover, CoverFields: cover, Scatter: scatter, Where: where, Title: m.options.Name,
		At: m.site.inTag(m.options.Fields[0].Offset), Components: components,
	}, m.options.WithDeleted)
}

// resolveComponents resolves the fields of an index or of a group.
func (c *collector) resolveComponents(r *model.Record, site fieldSite, fields []tags.FieldName, options ...string) (components []*model.Component, ok bool) {
	repeated := 0
	ok = true
	for _, f := range fields {
		one := c.resolveComponent(r, site, f, options...)
		if one == nil {
			ok = false
			continue
		}
		if one.Slice {
			repeated++
		}
		if one.Slice && repeated > 1 {
			c.Add(site.inTag(f.Offset), r.GoName, "a second slice in one index; entries would multiply")
			ok = false
		}
		components = append(components, one)
	}
	return components, ok
}

// resolveComponent resolves a field that is to be part of a key, or returns nil
// after a fault.
func (c *collector) resolveComponent(r *model.Record, site fieldSite, f tags.FieldName, options ...string) *model.Component {
	steps, message := findSteps(r.Message, f.Text, options...)
	var one *model.Component
	if message == "" {
		one, message = c.newComponent(steps)
	}
	switch {
	case message != "":
		c.Add(site.inTag(f.Offset), r.GoName, "%s", message)
		return nil
	case one != nil && len(steps) == 1 && steps[0] == r.IDField:
		c.Add(site.inTag(f.Offset), r.GoName, "the ID ends every index entry already; remove %s", f.Text)
		return nil
	}
	if one != nil { // else the field's own fault was reported
		one.Descending = f.Descending
	}
	return one
}

// resolveCover resolves the fields of cover=A+B.
func (c *collector) resolveCover(r *model.Record, m markerIndex, components []*model.Component) (list []*model.Field, ok bool) {
	ok = true
	for _, name := range m.options.CoverFields {
		f, message := coveredField(r, name.Text, components)
		if message != "" {
			c.Add(m.site.inTag(name.Offset), r.GoName, "%s", message)
		}
		if f == nil || f.Kind == nil || message != "" {
			ok = false
			continue
		}
		list = append(list, f)
	}
	return list, ok
}

// coveredField finds a field that entries are to hold, or returns why they cannot.
func coveredField(r *model.Record, name string, components []*model.Component) (f *model.Field, reason string) {
	steps, reason := findSteps(r.Message, name)
	if reason != "" {
		return nil, reason
	}
	f = steps[0]
	inKey := func(one *model.Component) bool { return len(one.Steps) == 1 && one.Steps[0] == f && !one.Slice }
	switch {
	case len(steps) > 1:
		return nil, fmt.Sprintf("%s is in a nested struct; cover= holds fields of the record itself, or write cover for the whole record", name)
	case f == r.IDField:
		return nil, "every row has the ID already; remove " + name
	case slices.ContainsFunc(components, inKey):
		return nil, fmt.Sprintf("a row has the fields of the index already; remove %s", name)
	case slices.ContainsFunc(components, func(one *model.Component) bool { return one.GoName() == f.GoName }):
		return nil, fmt.Sprintf("a row would have two fields %s; write cover for the whole record", f.GoName)
	case f.Kind != nil && !f.Kind.IsPlain():
		return nil, fmt.Sprintf("%s is a struct, or has an encoding of its own; cover= holds fields of basic types and slices and maps of them, or write cover for the whole record", name)
	}
	return f, ""
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
		if f.Options.WithDeleted && r.Deleted() == nil {
			c.Add(f.OptionAt("withdeleted"), f.Subject, withoutDeleted, r.GoName)
		}
		if one != nil && message == "" {
			r.Indexes = append(r.Indexes, nameIndex(r, &model.Index{
				Kind: model.Value, Unique: f.Options.Unique, Cover: f.Options.Cover, Scatter: scatterOf(f),
				At: at, Components: []*model.Component{one},
			}, f.Options.WithDeleted))
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
			return nil, fmt.Sprintf("%s is a slice in a struct that a pointer holds, and cannot be indexed; hold the struct by value", one.Name())
		}
	}
	one.Element = foldedKind(steps[len(steps)-1], k)
	return one, c.whyNotIndexed(one, k)
}

// whyNotIndexed returns why a kind cannot be part of a key, or "".
func (c *collector) whyNotIndexed(one *model.Component, k *model.Kind) string {
	text := c.typeText(k.GoType)
	if c.findUnexported(k.GoType) != nil {
		return fmt.Sprintf("the unexported type %s of another package cannot be indexed; export it, or use another type", text)
	}
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
	case model.FormBlob:
		return fmt.Sprintf("%s cannot be indexed, because it only refers to a content", text)
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
			c.Add(at, r.GoName, "no field is named %s%s", e.Field, tags.Suggest(e.Field, r.Message.FieldNames()))
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

// addAggregate resolves the marker of an aggregate.
func (c *collector) addAggregate(r *model.Record, m markerAggregate) {
	c.checkShared(r, m.site, m.options.MarkerOptions)
	group, grouped := c.resolveComponents(r, m.site, m.options.By)
	where, sound := c.resolveWhere(r, m.site, m.options.Where)
	sound = sound && optionChecker{c}.checkExtreme(r, m)
	kind := model.AggregateKind(m.marker)
	var of *model.Component
	if kind.Measure != model.NoMeasure {
		of = c.resolveMeasure(r, m, kind)
	}
	if !grouped || !sound || of == nil && kind.Measure != model.NoMeasure {
		return
	}
	for _, one := range group {
		if of != nil && one.Name() == of.Name() {
			c.Add(m.site.inTag(m.options.Of.Offset), r.GoName, "%s is in the group itself; remove it from by=", m.options.Of.Text)
			return
		}
	}
	d := &model.Index{Kind: kind, Components: group, Where: where, Title: m.options.Name, At: m.at}
	switch kind.Measure {
	case model.MeasureOf:
		d.Of = of
	case model.MeasureLast:
		d.Components = append(group, of)
	}
	nameIndex(r, d, m.options.WithDeleted)
	if kind == model.Value {
		c.addExtreme(r, m, d)
		return
	}
	r.Indexes = append(r.Indexes, d)
}

// resolveMeasure resolves the field that the marker names, or returns nil after a fault.
func (c *collector) resolveMeasure(r *model.Record, m markerAggregate, kind *model.IndexKind) *model.Component {
	one := c.resolveComponent(r, m.site, m.options.Of)
	if one == nil {
		return nil
	}
	if kind.RefuseMeasure == nil {
		return one
	}
	typ := c.typeText(one.Steps[len(one.Steps)-1].Kind.GoType)
	if reason := kind.RefuseMeasure(one, m.options.Of.Text, typ); reason != "" {
		c.Add(m.site.inTag(m.options.Of.Offset), r.GoName, "%s", reason)
		return nil
	}
	return one
}

// addExtreme lets an index answer a Min or Max: one on the same fields that is there, or
// a new one.
func (c *collector) addExtreme(r *model.Record, m markerAggregate, d *model.Index) {
	extreme := model.Extreme{Greatest: m.marker == "Max"}
	same := func(other *model.Index) bool {
		return other.Identity() == d.Identity() && (d.Title == "" || d.Name == other.Name)
	}
	i := slices.IndexFunc(r.Indexes, same)
	if i < 0 {
		d.Extremes = []model.Extreme{extreme}
		r.Indexes = append(r.Indexes, d)
		return
	}
	first := r.Indexes[i]
	group := first.Components[:len(first.Components)-1]
	switch {
	case slices.Contains(first.Extremes, extreme):
		c.Add(d.At, r.GoName, "duplicate %s of %s", m.marker, d.Subject())
	case first.Unique && slices.ContainsFunc(group, func(one *model.Component) bool { return one.Nullable }):
		c.Add(d.At, r.GoName, "the unique index on %s, which would answer, leaves out records with a null in %s; make it an index that is not unique",
			first.FieldNames(), cmp.Or((&model.Index{Components: group}).FieldNames(), "it"))
	default:
		first.Extremes = append(first.Extremes, extreme)
	}
}

// addVersionIndex adds the index that orders records by their versions.
func (c *collector) addVersionIndex(r *model.Record) {
	r.Indexes = append(r.Indexes, &model.Index{Kind: model.Version, Name: model.IndexName(r.Name, model.Version.Name), At: r.VersionAt})
}

// resolveWhere resolves the condition of a partial index: nil where there is none, or
// not ok after a fault.
func (c *collector) resolveWhere(r *model.Record, site fieldSite, w tags.Where) (p *model.Predicate, ok bool) {
	if len(w.Comparisons) == 0 {
		return nil, true
	}
	var list []model.Comparison
	ok = true
	for _, one := range w.Comparisons {
		resolved, at, message := c.resolveComparison(r, site, one)
		if message != "" {
			c.Add(site.inTag(at), r.GoName, "%s", message)
		}
		ok = ok && message == "" && resolved.Component != nil
		list = append(list, resolved)
	}
	if !ok {
		return nil, false
	}
	return model.NewPredicate(list), true
}

// resolveComparison resolves a comparison, or returns its fault. Both are empty where the
// field's own fault was reported.
func (c *collector) resolveComparison(r *model.Record, site fieldSite, t tags.Comparison) (resolved model.Comparison, at int, message string) {
	field, message := c.comparedField(r, t.Field.Text)
	if message != "" || field == nil {
		return resolved, t.Field.Offset, message
	}
	resolved = model.Comparison{Component: field, Operator: t.Operator}
	switch {
	case t.Operator == "":
		if field.Element.Form != model.FormBool {
			return resolved, t.Field.Offset, fmt.Sprintf("%s is not a bool and cannot stand alone; compare it: %s=…", t.Field.Text, t.Field.Text)
		}
		resolved.Operator, resolved.Constant = "=", fmt.Sprint(!t.Not)
		return resolved, 0, ""
	case t.Operand == model.Null && !t.Quoted:
		return c.compareWithNull(resolved, t)
	}
	if field.Element.Folded {
		return resolved, t.OperandOffset, fmt.Sprintf("%s is folded, and a condition compares texts as they are written; keep what the condition needs in a field of its own", t.Field.Text)
	}
	constant, message := c.constantOf(site, field, t)
	if message != "" {
		return resolved, t.OperandOffset, message
	}
	return compareWith(resolved, constant, t)
}

// comparedField finds the field of a comparison.
func (c *collector) comparedField(r *model.Record, path string) (*model.Component, string) {
	steps, reason := findSteps(r.Message, path)
	if reason != "" {
		return nil, reason
	}
	one := &model.Component{Steps: steps}
	for _, s := range steps {
		if s.Kind == nil {
			return nil, ""
		}
		one.Nullable = one.Nullable || s.Kind.Form == model.FormPointer
	}
	one.Element = steps[len(steps)-1].Kind
	switch one.Element.Form {
	case model.FormPointer:
		one.Element = one.Element.Elem
	case model.FormSlice, model.FormMap:
		return nil, fmt.Sprintf("%s has many values; a condition compares a field that has one", path)
	}
	one.Element = foldedKind(steps[len(steps)-1], one.Element)
	return one, ""
}

// compareWithNull checks a comparison with null.
func (c *collector) compareWithNull(resolved model.Comparison, t tags.Comparison) (_ model.Comparison, at int, message string) {
	switch {
	case t.Operator != "=" && t.Operator != "!=":
		return resolved, t.OperandOffset, fmt.Sprintf("null has no order; write %s=null or %s!=null", t.Field.Text, t.Field.Text)
	case !resolved.Component.Nullable:
		return resolved, t.OperandOffset, fmt.Sprintf("%s is not a pointer and cannot be null; compare it with a value", t.Field.Text)
	}
	resolved.Constant = model.Null
	return resolved, 0, ""
}

// compareWith checks a comparison with a constant. That of a bool is always written
// with the operator =.
func compareWith(resolved model.Comparison, constant string, t tags.Comparison) (_ model.Comparison, at int, message string) {
	if resolved.Component.Element.Form != model.FormBool {
		resolved.Constant = constant
		return resolved, 0, ""
	}
	if t.Operator != "=" && t.Operator != "!=" {
		return resolved, t.OperandOffset, fmt.Sprintf("a bool has no order; write %s or not %s", t.Field.Text, t.Field.Text)
	}
	resolved.Constant = fmt.Sprint((constant == "true") == (t.Operator == "="))
	resolved.Operator = "="
	return resolved, 0, ""
}
