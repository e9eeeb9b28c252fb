// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// addAggregate resolves a Count, Sum, Min, Max or Rank marker.
func (c *collector) addAggregate(r *model.Record, m markerAggregate) {
	group, grouped := c.resolveComponents(r, m.site, m.options.By)
	where, sound := c.resolveWhere(r, m.site, m.options.Where)
	var of *model.Component
	if m.marker != "Count" {
		of = c.resolveMeasure(r, m)
	}
	if !grouped || !sound || of == nil && m.marker != "Count" {
		return
	}
	for _, one := range group {
		if of != nil && one.Name() == of.Name() {
			c.Add(m.site.inTag(m.options.Of.Offset), r.GoName, "%s is in the group itself; remove it from by=", m.options.Of.Text)
			return
		}
	}
	d := &model.Index{Components: group, Where: where, Title: m.options.Name, At: m.at}
	switch m.marker {
	case "Count":
		d.Kind = model.Count
	case "Sum":
		d.Kind, d.Of = model.Sum, of
	case "Rank":
		d.Kind, d.Components = model.Rank, append(group, of)
	default:
		d.Components = append(group, of)
		c.addExtreme(r, m, nameIndex(r, d))
		return
	}
	r.Indexes = append(r.Indexes, nameIndex(r, d))
}

// resolveMeasure resolves the field that is summed, compared or ranked, or returns
// nil after a fault.
func (c *collector) resolveMeasure(r *model.Record, m markerAggregate) *model.Component {
	one := c.resolveComponent(r, m.site, m.options.Of)
	if one == nil {
		return nil
	}
	text, reason := c.typeText(one.Steps[len(one.Steps)-1].Kind.GoType), ""
	switch form := one.Element.Form; {
	case m.marker == "Sum" && (form == model.FormFloat32 || form == model.FormFloat64):
		reason = fmt.Sprintf("a sum of floats such as %s would depend on the order of the additions; keep the amount as an integer of its smallest unit", text)
	case m.marker == "Sum" && (one.Slice || form != model.FormInt && form != model.FormUint && form != model.FormDuration):
		reason = fmt.Sprintf("%s cannot be summed; a Sum is of an integer or a time.Duration", text)
	case m.marker == "Rank" && one.Slice:
		reason = fmt.Sprintf("%s cannot be ranked: a record has one rank, not one for each element", text)
	case m.marker == "Rank" && one.Nullable:
		reason = fmt.Sprintf("%s may be null, and a null has no rank; rank a field that is no pointer, or behind none", m.options.Of.Text)
	}
	if reason != "" {
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
	r.Indexes = append(r.Indexes, &model.Index{Kind: model.Version, Name: model.IndexName(r.Name, string(model.Version)), At: r.VersionAt})
}
