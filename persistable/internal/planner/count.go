// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Group is a group of an index of the kind Count.
type Group struct {
	Index  int
	Values []byte // packed
}

// CountGroups returns a group for each alternative of a search that has just the records which
// fulfil it and are not hidden. It returns nil if some alternative has none, or a record may be in several.
func CountGroups(indexes []index.Definition, s *erased.Search, hidden *erased.Deletion) (all []Group) {
	if len(s.Question) > 1 && !s.Disjoint {
		return nil
	}
	for _, clauses := range s.Question {
		g, ok := countGroup(indexes, clauses, "", hidden)
		if !ok {
			return nil
		}
		all = append(all, g)
	}
	return all
}

// CountGroupsOf is CountGroups for a plan of one range.
func CountGroupsOf(indexes []index.Definition, p *erased.Plan, hidden *erased.Deletion) []Group {
	d := &index.Definition{} // in the order of ids there are all records
	if p.Index != erased.ByID {
		d = &indexes[p.Index]
	}
	clauses, ok := clausesOf(d, p.Bounds)
	if !ok || d.Kind != index.Value || !hasAllRecords(d, len(clauses), clauses) {
		return nil
	}
	if g, ok := countGroup(indexes, clauses, d.Where, hidden); ok {
		return []Group{g}
	}
	return nil
}

// clausesOf returns what bounds say, if it is only equality.
func clausesOf(d *index.Definition, b index.Bounds) (clauses erased.Conjunction, ok bool) {
	if b.IsNarrowed() {
		return nil, false
	}
	for rest := b.EqualValues(); len(rest) > 0; {
		field := len(clauses)
		if field == len(d.Fields) {
			return nil, false
		}
		element, after, err := d.AppendAscending(nil, rest, field)
		if err != nil {
			return nil, false
		}
		clauses = append(clauses, erased.Clause{Field: d.Fields[field], Comparison: erased.Equal, Value: element})
		rest = after
	}
	return clauses, true
}

// countGroup returns the group that has just the records which fulfil clauses and a predicate, and are
// not hidden.
func countGroup(indexes []index.Definition, clauses erased.Conjunction, where string, hidden *erased.Deletion) (g Group, ok bool) {
	for i := range indexes {
		d := &indexes[i]
		if d.Kind != index.Count || d.Where != where && (where != "" || !isImplied(d.Where, clauses, hidden)) {
			continue
		}
		if hidden != nil && !hidden.IsLeftOut(d) {
			continue
		}
		if values, ok := groupOf(d, clauses); ok {
			return Group{i, values}, true
		}
	}
	return g, false
}

// groupOf returns the values of the group of an index that has just the records which fulfil
// clauses: one with equality for each of its fields, and others that its predicate says.
func groupOf(d *index.Definition, clauses erased.Conjunction) (values []byte, ok bool) {
	left := slices.Clone(clauses)
	for i, field := range d.Fields {
		at := slices.IndexFunc(left, func(c erased.Clause) bool { return c.Field == field && c.Comparison == erased.Equal })
		if at < 0 {
			return nil, false
		}
		values = appendValue(values, d, i, left[at].Value)
		left = slices.Delete(left, at, at+1)
	}
	for i := range left {
		if !isSaid(d.Where, &left[i]) {
			return nil, false
		}
	}
	return values, true
}
