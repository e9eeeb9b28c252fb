// SPDX-License-Identifier: Apache-2.0

package model

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
	return (d.Kind == Count || d.Kind == Sum) && len(d.Components) > 1
}
