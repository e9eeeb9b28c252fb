// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/token"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// Index is one index of a record.
type Index struct {
	Name        string // as it stands in keys, without "_unique"
	Kind        *IndexKind
	Unique      bool
	Cover       bool
	CoverFields []*Field
	Scatter     tags.Scatter
	At          token.Position
	Components  []*Component // of an aggregate the group, and the measure if that is last
	Of          *Component   // what a Sum adds up
	Where       *Predicate   // nil if all records are in the index
	Written     *Predicate   // what the marker says of Where; nil: nothing
	Title       string       // the option name=
	Extremes    []Extreme    // the Min and Max markers that the index answers
}

// NameIndex gives an index of a type the name that was chosen, or that of its kind
// and fields.
func (d *Index) NameIndex(typ string) {
	if d.Title != "" {
		d.Name = IndexName(typ, d.Title)
		return
	}
	var names []string
	if d.Kind.Name != "" {
		names = append(names, d.Kind.Name)
	}
	if d.Of != nil {
		names = append(names, d.Of.Name())
	}
	names = append(names, fieldNames(d.Components)...)
	if d.Where != nil {
		names = append(append(names, "where"), fieldNames(d.Where.Components())...)
	}
	d.Name = IndexName(typ, names...)
}

// IndexName is the name of an index in keys: type and names joined by "_",
// underscores inside a name doubled, as index.Name has it.
func IndexName(typ string, names ...string) string {
	parts := []string{strings.ReplaceAll(typ, "_", "__")}
	for _, name := range names {
		parts = append(parts, strings.ReplaceAll(name, "_", "__"))
	}
	return strings.Join(parts, "_")
}

// FieldNames joins the names of the components with commas.
func (d *Index) FieldNames() string { return strings.Join(fieldNames(d.Components), ",") }

// Identity is what two indexes of a type must not share: then they would keep the same.
func (d *Index) Identity() string {
	text := d.Kind.Name + " " + d.FieldNames()
	if d.Of != nil {
		text += " of " + d.Of.Name()
	}
	return text + " where " + d.Where.Text()
}

// Subject says what the index keeps, for messages.
func (d *Index) Subject() string {
	text := d.Kind.Name + " of " + d.FieldNames()
	if d.Kind.Subject != nil {
		text = d.Kind.Subject(d)
	}
	if d.Where != nil {
		text += " where " + d.Where.Text()
	}
	return text
}

// by names a group for messages.
func by(group []*Component) string {
	if len(group) == 0 {
		return ""
	}
	return " by " + strings.Join(fieldNames(group), ",")
}

// Descending names the components that the key holds in descending order.
func (d *Index) Descending() (names []string) {
	for _, c := range d.Components {
		if c.Descending {
			names = append(names, c.Name())
		}
	}
	return names
}

// foldOption is the word of folded fields in a lock, as index.FoldOption has it.
const foldOption = "fold15.0.0"

// Folded names the components that the key holds without regard to case.
func (d *Index) Folded() (names []string) {
	for _, c := range d.Components {
		if c.Element.Folded {
			names = append(names, c.Name())
		}
	}
	return names
}

// CoverNames are the key-stable names of the covered fields.
func (d *Index) CoverNames() (names []string) {
	for _, f := range d.CoverFields {
		names = append(names, f.Name)
	}
	return names
}

// Signature names the kinds of the components, of the summed field and of the covered
// fields, which decide the bytes of keys and values.
func (d *Index) Signature() string {
	var kinds []string
	for _, c := range d.Components {
		kinds = append(kinds, c.keyText())
	}
	if d.Of != nil {
		kinds = append(kinds, d.Of.keyText())
	}
	for _, f := range d.CoverFields {
		kinds = append(kinds, f.Kind.CoverText())
	}
	return strings.Join(kinds, ",")
}

// LockSignature names all that the entries of the index depend on. It has no spaces
// within its words.
func (d *Index) LockSignature() string {
	words := []string{d.FieldNames(), d.Signature()}
	add := func(set bool, word string) {
		if set {
			words = append(words, word)
		}
	}
	add(d.Kind.Name != "", "kind="+d.Kind.Name)
	if d.Of != nil {
		add(true, "of="+d.Of.Name())
	}
	add(len(d.Descending()) > 0, "desc="+strings.Join(d.Descending(), ","))
	add(len(d.Folded()) > 0, foldOption+"="+strings.Join(d.Folded(), ","))
	add(d.Cover, "cover")
	add(len(d.CoverFields) > 0, "cover="+strings.Join(d.CoverNames(), ","))
	add(d.Scatter.Shards != 0, "scatter="+d.Scatter.Text())
	add(d.Where != nil, "where="+d.Where.Text())
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// Key is the index's name in keys and in persist.lock.
func (d *Index) Key() string {
	if d.Unique {
		return d.Name + "_unique"
	}
	return d.Name
}

// HasDeleted reports whether the index, which is one of the record, has deleted records, too.
func (d *Index) HasDeleted(r *Record) bool {
	return r.Deleted() != nil && d.Where.Text() != r.Present(d.Where).Text()
}

// SparseFields names the components that keep a record out of the index: by a null in
// a unique index, or by an empty slice.
func (d *Index) SparseFields() []string {
	var names []string
	for _, c := range d.Components {
		if c.Slice || d.Unique && c.Nullable {
			names = append(names, c.Name())
		}
	}
	return names
}

// Extreme is a Min or Max marker, which an index of kind Value answers.
type Extreme struct {
	Greatest bool
}

// verb is what the method's name begins with.
func (x Extreme) verb() string {
	if x.Greatest {
		return "Max"
	}
	return "Min"
}

// RowType is the type of the rows of an index that covers chosen fields.
func (d *Index) RowType(r *Record) string {
	return r.GoName + "By" + goFields(d.Components) + whereSuffix(d) + "Row"
}

// GroupType is the type of a group of several fields: those that Counts and Sums yield.
func GroupType(r *Record, group []*Component) string {
	return r.GoName + byGroup(group) + "Group"
}

// Reader is the function that reads a row or a group of that type from a key.
func Reader(typ string) string { return "read" + Exported(typ) }

// HasGroups reports whether methods of the index yield groups of several fields.
func (d *Index) HasGroups() bool {
	return d.Kind.Tallies && len(d.Components) > 1
}
