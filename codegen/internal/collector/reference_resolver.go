// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// referenceResolver resolves references, when all records of the package are collected.
type referenceResolver struct{ *collector }

// addReferences resolves the fields of a record that refer to others.
func (c referenceResolver) addReferences(r *model.Record) {
	for _, f := range r.Message.Fields {
		if f.Options.Ref.To == "" || f.Kind == nil || f == r.IDField {
			continue
		}
		report := func(format string, args ...any) {
			c.Add(f.OptionAt("ref"), f.Subject, "ref=%s: %s", f.Options.Ref.To, fmt.Sprintf(format, args...))
		}
		to := c.findReferred(f.Options.Ref.To, report)
		if to == nil || to.IDField == nil || to.IDField.Kind == nil {
			continue
		}
		one, reason := c.newComponent([]*model.Field{f})
		if reason == "" {
			reason = c.whyNotReferred(r, one, to)
		}
		if reason != "" {
			report("%s", reason)
			continue
		}
		ref := &model.Reference{Field: one, From: r, To: to, Index: indexOn(r, one)}
		if ref.Args, reason = matchDirectories(r, to); reason == "" && ref.LooksBack() {
			ref.BackArgs, reason = c.lookBack(ref)
		}
		if reason != "" {
			report("%s", reason)
			continue
		}
		f.Refers = to
		to.Referrers = append(to.Referrers, ref)
		r.References = append(r.References, ref)
	}
}

// findReferred returns the record type with that Go name, or nil after a fault.
func (c referenceResolver) findReferred(name string, report func(format string, args ...any)) *model.Record {
	var names []string
	for _, r := range c.pkg.Records {
		if r.GoName == name {
			return r
		}
		names = append(names, r.GoName)
	}
	switch {
	case c.pkg.Types.Scope().Lookup(name) != nil:
		report("it is not a persistable type: it has no marker, such as _ persistable.Type `persist:%q`", name)
	default:
		report("this package has no such type, and a reference stays within its package%s", tags.Suggest(name, names))
	}
	return nil
}

// whyNotReferred returns why a field cannot have IDs of a type, or "".
func (c referenceResolver) whyNotReferred(r *model.Record, one *model.Component, to *model.Record) string {
	id := to.IDField.Kind
	switch id.Form {
	case model.FormID, model.FormULID, model.FormUUID, model.FormString, model.FormInt, model.FormUint, model.FormArray:
	default:
		return fmt.Sprintf("the ID of %s is of type %s; a reference needs an idgen.ID, a ULID, a UUID, a string, an integer or an array of bytes",
			to.GoName, c.typeText(id.GoType))
	}
	if one.Element.Text() != id.Text() || one.Element.KeyText() != id.KeyText() {
		return fmt.Sprintf("the field has values of type %s, and the ID of %s is of type %s; give the field that type, or a pointer to it, or a slice of it",
			c.typeText(one.Element.GoType), to.GoName, c.typeText(id.GoType))
	}
	isField := func(other *model.Component) bool { return len(other.Steps) == 1 && other.Steps[0] == one.Steps[0] }
	if !slices.ContainsFunc(r.QueryFields(), isField) {
		return fmt.Sprintf("another field is named %s in conditions; rename one of them, keeping its name= for the stored data", one.GoName())
	}
	return ""
}

// lookBack returns what the deletion of a record needs to find those that refer to it.
func (c referenceResolver) lookBack(ref *model.Reference) (args []int, reason string) {
	option := "restrict"
	if ref.Options().Cascade {
		option = "cascade"
	}
	if ref.Index == nil || ref.Index.Scatter.Shards != 0 || slices.ContainsFunc(ref.Index.Components[1:], func(one *model.Component) bool { return one.Slice }) {
		return nil, fmt.Sprintf("%s needs an index by which the deletion of a %s finds the records that refer to it: an ascending one that begins with the field, has no slice after it and no condition, and is not scattered; "+
			"add the option index to the field", option, ref.To.GoName)
	}
	if args, reason = matchDirectories(ref.To, ref.From); reason != "" {
		reason = fmt.Sprintf("%s: the deletion of a %s would have to look into several directories: that of a %s, %s, has a {Field} that %s has not; remove %s",
			option, ref.To.GoName, ref.From.GoName, ref.From.Directory, ref.To.Directory, option)
	}
	return args, reason
}

// indexOn returns the index that has the records with a value of a field, but for deleted ones: of those that begin
// with it, one that is not scattered if there is one, with as few fields as possible.
func indexOn(r *model.Record, one *model.Component) *model.Index {
	var all []*model.Index
	for _, d := range r.Indexes {
		if d.Kind == model.Value && d.Where.Text() == r.Present(nil).Text() && d.Components[0].Name() == one.Name() && !d.Components[0].Descending {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Index) int {
		return cmp.Or(cmp.Compare(a.Scatter.Shards, b.Scatter.Shards), cmp.Compare(len(a.Components), len(b.Components)))
	})
	return slices.Concat(all, []*model.Index{nil})[0]
}

// matchDirectories returns, for each {Field} in the path of to, which one of from it is. It
// returns why a record of from does not determine the directory of to.
func matchDirectories(from, to *model.Record) (args []int, reason string) {
	own := boundFields(from)
	for _, f := range boundFields(to) {
		i := slices.IndexFunc(own, func(other *model.Field) bool { return other.Name == f.Name })
		switch {
		case i < 0:
			return nil, fmt.Sprintf("%s is in the directory %s, and that of %s, %s, has no {%s}: a reference stays within its directory, as within a tenant; "+
				"write {%s} into the path of %s, or store the records that all directories share in one without it",
				to.GoName, to.Directory, from.GoName, from.Directory, f.GoName, f.GoName, from.GoName)
		case f.Kind == nil || own[i].Kind == nil:
			return nil, ""
		case f.Kind.KeyText() != own[i].Kind.KeyText():
			return nil, fmt.Sprintf("{%s} is of kind %s in the directory of %s, and of kind %s in that of %s; give both one type",
				f.GoName, f.Kind.Text(), to.GoName, own[i].Kind.Text(), from.GoName)
		}
		args = append(args, i)
	}
	return args, ""
}

// boundFields are the fields of the path of a record, in the order of a store's arguments.
func boundFields(r *model.Record) (list []*model.Field) {
	for _, e := range r.Directory.Elements {
		if e.Bound != nil {
			list = append(list, e.Bound)
		}
	}
	return list
}
