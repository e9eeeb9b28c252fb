// SPDX-License-Identifier: Apache-2.0

// Package planner finds the indexes that serve the conditions of a query. It reads
// nothing. Of one index it uses the first fields as long as they have equality, and
// the range on the field behind them; what remains is a filter, which looks at each
// record. Alternatives become lanes, which are read side by side.
package planner

import (
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Request is what plans are wanted for.
type Request struct {
	Indexes      []index.Definition
	Alternatives []erased.Conjunction
	CanFilter    bool // the values of a record's fields can be looked at
	AllowScan    bool // all records may be read
}

// Search returns the ways to serve the alternatives, of which there is at least one. If some
// alternative has none, it returns nil and what is said before the list of the conditions'
// fields, empty if it is simply that no index begins with them.
func Search(r Request) (s *erased.Search, reason string) {
	s = &erased.Search{Question: r.Alternatives, Scan: r.scan()}
	r.Alternatives = r.splitUnequal()
	s.Alternatives, s.Disjoint = r.Alternatives, r.areDisjoint()
	for _, clauses := range r.Alternatives {
		if len(clauses) == 0 {
			return nil, "no condition is given: give one for the first field of an index, or read all records by Scan"
		}
		ways := r.waysFor(clauses)
		if len(ways) == 0 {
			return onlyScan(s), r.reason(clauses)
		}
		s.Lanes = append(s.Lanes, ways)
	}
	if len(s.Lanes) > 1 && !s.Disjoint && !r.CanFilter {
		return onlyScan(s), "no index serves all alternatives of the conditions on"
	}
	return s, ""
}

// onlyScan returns the search without indexes, nil if it may not read all records.
func onlyScan(s *erased.Search) *erased.Search {
	if s.Scan == nil {
		return nil
	}
	return &erased.Search{Question: s.Question, Scan: s.Scan}
}

// waysFor returns the plans of an alternative, the best first. One of several is read as one
// range, because a record may be in several lanes.
func (r *Request) waysFor(clauses erased.Conjunction) (all []erased.Plan) {
	for _, c := range r.choicesFor(clauses) {
		if c.plan.Both == nil || len(r.Alternatives) == 1 {
			all = append(all, c.plan)
		}
	}
	return all
}

// Combine returns the plan that reads each alternative of a search in one of its ways.
func Combine(indexes []index.Definition, s *erased.Search, ways []*erased.Plan) *erased.Plan {
	if len(ways) == 1 {
		return ways[0]
	}
	u := &erased.Union{Alternatives: s.Alternatives, Merged: areMerged(indexes, ways), Disjoint: s.Disjoint}
	for _, way := range ways {
		u.Lanes = append(u.Lanes, *way)
	}
	return &erased.Plan{Index: ways[0].Index, Union: u}
}

// scan returns the plan that reads all records, if that is allowed.
func (r *Request) scan() *erased.Plan {
	if !r.AllowScan || !r.CanFilter {
		return nil
	}
	return &erased.Plan{Index: erased.ByID, Filter: r.Alternatives}
}

// reason says why no index serves clauses.
func (r *Request) reason(clauses erased.Conjunction) string {
	if slices.ContainsFunc(clauses, wantsNull) {
		return "no index that has records with null, as a unique one has not, begins with"
	}
	return ""
}

// areMerged reports whether the keys of all lanes have one order behind the values
// with equality: that of the same fields, or that of ids.
func areMerged(indexes []index.Definition, ways []*erased.Plan) bool {
	ids, oneIndex, first := true, true, ways[0]
	for _, way := range ways {
		ids = ids && byID(indexes, way)
		oneIndex = oneIndex && way.Index == first.Index && equalFields(way) == equalFields(first) && !isOne(indexes, way)
	}
	return ids || oneIndex
}

// areDisjoint reports whether each two alternatives want different values of one
// field, which is no slice.
func (r *Request) areDisjoint() bool {
	for i, a := range r.Alternatives {
		for _, b := range r.Alternatives[:i] {
			if !slices.ContainsFunc(a, func(c erased.Clause) bool { return r.excludes(c, b) }) {
				return false
			}
		}
	}
	return true
}

// excludes reports whether no record that fulfils a clause fulfils others.
func (r *Request) excludes(c erased.Clause, others erased.Conjunction) bool {
	return c.Comparison == erased.Equal && r.isSingle(c.Field) && slices.ContainsFunc(others, func(o erased.Clause) bool {
		return o.Field == c.Field && o.Comparison == erased.Equal && string(o.Value) != string(c.Value)
	})
}

// isSingle reports whether an index tells that a field is no slice.
func (r *Request) isSingle(field string) bool {
	for i := range r.Indexes {
		if at := slices.Index(r.Indexes[i].Fields, field); at >= 0 {
			return !isSlice(&r.Indexes[i], at)
		}
	}
	return false
}
