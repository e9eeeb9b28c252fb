// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// Reference is a field with the IDs of records of a type, in the same directory or in one
// that the fields of the record's own directory determine.
type Reference struct {
	Field *Component
	From  *Record
	To    *Record
	Args  []int  // for each {Field} in the path of To, which one it is in the path of From
	Index *Index // an index of From that begins with the field; nil if there is none

	BackArgs []int // Args the other way round, where the deletion of a record looks for those that refer to it
}

// Options are the options of the field.
func (r *Reference) Options() tags.Reference { return r.Field.Steps[0].Options.Ref }

// IsChecked reports whether writes check that the records exist.
func (r *Reference) IsChecked() bool {
	o := r.Options()
	return o.Check || o.Restrict || o.Cascade
}

// LooksBack reports whether the deletion of a record looks for those that refer to it.
func (r *Reference) LooksBack() bool { return r.Options().Restrict || r.Options().Cascade }

// Label is the field with what its option has deletions do.
func (r *Reference) Label() string {
	switch o := r.Options(); {
	case o.Restrict:
		return r.Field.Name() + " restrict"
	case o.Cascade:
		return r.Field.Name() + " cascade"
	}
	return r.Field.Name()
}

// Method is the name of the method that reads the records: that of the option as=, or the
// plural of the field's name without ID.
func (r *Reference) Method() string {
	if as := r.Options().As; as != "" {
		return as
	}
	name := Exported(r.Field.Steps[0].GoName)
	for _, suffix := range []string{"IDs", "Ids", "ID", "Id"} {
		if stem, found := strings.CutSuffix(name, suffix); found && stem != "" {
			return plural(stem)
		}
	}
	return plural(name)
}

// plural is the plural of a name that ends in an English noun, by the usual rules.
func plural(name string) string {
	y, isY := strings.CutSuffix(name, "y")
	switch {
	case isY && y != "" && !strings.ContainsAny(y[len(y)-1:], "aeiou"):
		return y + "ies"
	case slices.ContainsFunc([]string{"s", "x", "z", "ch", "sh"}, func(end string) bool { return strings.HasSuffix(name, end) }):
		return name + "es"
	}
	return name + "s"
}

// Back is the method of the store of From that returns the records which refer to one; "" if
// no index has them.
func (r *Reference) Back() string {
	if r.Index == nil {
		return ""
	}
	for _, m := range QueryMethods(r.Index) {
		if len(m.Equal) == 1 && m.Kind != MethodUniqueRow && m.Kind != MethodEqualRows && m.Kind != MethodRangeRows {
			return m.Name
		}
	}
	return ""
}

// Cost is what the method costs that reads the records.
func (r *Reference) Cost() ReadCost {
	return ReadCost{Rounds: "1", Reads: "n", Ranges: "0", Conflicts: "the keys of the " + r.To.GoName + " records"}
}
