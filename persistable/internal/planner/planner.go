// SPDX-License-Identifier: Apache-2.0

// Package planner finds the indexes that serve the conditions of a query. It reads
// nothing. Of one index it uses the first fields as long as they have equality, and
// the range on the field after them; what remains is a filter, which looks at each
// record. Alternatives become lanes, which are read side by side.

package planner

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Request is what plans are wanted for.
type Request struct {
	Indexes      []index.Definition
	Alternatives []erased.Conjunction
	ID           string // the field of the id, which ends the entries of an index that is not unique
	CanFilter    bool   // the values of a record's fields can be looked at
	AllowScan    bool   // all records may be read

	Hidden *erased.Deletion // of records that are not wanted, whatever the conditions; nil: there are none
}

// Search returns the ways to serve the alternatives, of which there is at least one. If some
// alternative has none, it returns nil and what is said before the list of the conditions'
// fields, empty if it is simply that no index begins with them.
func Search(r Request) (s *erased.Search, reason string) {
	s = &erased.Search{Question: r.Alternatives, Scan: r.scan()}
	if slices.ContainsFunc(r.Alternatives, func(clauses erased.Conjunction) bool { return len(clauses) == 0 }) {
		return onlyScan(s), "no condition is given: give one, or read all records by Scan or AllowScan"
	}
	r.Alternatives = r.splitUnequal()
	s.Alternatives, s.Disjoint = r.Alternatives, r.areDisjoint()
	for _, clauses := range r.Alternatives {
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
// range of an index, because a record may be in several lanes.
func (r *Request) waysFor(clauses erased.Conjunction) (all []erased.Plan) {
	for _, c := range r.choicesFor(clauses) {
		if c.isLane() || len(r.Alternatives) == 1 {
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
	all := slices.ContainsFunc(r.Alternatives, func(clauses erased.Conjunction) bool { return len(clauses) == 0 })
	switch {
	case !r.AllowScan || !r.CanFilter && !all:
		return nil
	case all:
		return &erased.Plan{Index: erased.ByID}
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

// areMerged reports whether the keys of all lanes have one order after the values
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
// field, which is not a slice.
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

// isSingle reports whether an index tells that a field is not a slice.
func (r *Request) isSingle(field string) bool {
	for i := range r.Indexes {
		if at := slices.Index(r.Indexes[i].Fields, field); at >= 0 {
			return !isSlice(&r.Indexes[i], at)
		}
	}
	return false
}

// choicesFor returns the ways to serve clauses, the best first: a unique index with
// equality for all of its fields; then those that leave the fewest clauses to the
// filter; of these a single index before two, and the one with the fewest fields.
func (r *Request) choicesFor(clauses erased.Conjunction) (all []choice) {
	for i := range r.Indexes {
		if c, ok := r.choose(i, clauses); ok {
			all = append(all, c)
		}
	}
	all = append(all, r.intersections(all, clauses)...)
	if c, ok := r.chooseRecords(clauses); ok {
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b choice) int {
		return cmp.Or(
			compareFalse(isOne(r.Indexes, &a.plan), isOne(r.Indexes, &b.plan)),
			cmp.Compare(a.rest, b.rest),
			compareFalse(a.plan.Both == nil, b.plan.Both == nil),
			compareFalse(a.plan.Index != erased.ByID, b.plan.Index != erased.ByID),
			cmp.Compare(r.fieldsOf(&a), r.fieldsOf(&b)),
		)
	})
	return all
}

// fieldsOf returns how many fields the index of a choice has.
func (r *Request) fieldsOf(c *choice) int {
	if c.plan.Index == erased.ByID {
		return 0
	}
	return len(r.Indexes[c.plan.Index].Fields)
}

// compareFalse sorts true before false.
func compareFalse(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// choose returns how the i-th index serves clauses: ok is false if it does not, or may
// lack records that fulfil them.
func (r *Request) choose(i int, clauses erased.Conjunction) (c choice, ok bool) {
	d := &r.Indexes[i]
	if d.Kind != index.Value || !isImplied(d.Where, clauses, r.Hidden) {
		return c, false
	}
	c.plan.Index = i
	fields := c.useClauses(d, clauses, r.ID)
	for at := range clauses {
		if !slices.Contains(c.used, at) && isSaid(d.Where, &clauses[at]) {
			c.used = append(c.used, at)
		}
	}
	if len(c.used) == 0 || !hasAllRecords(d, fields, clauses) {
		return c, false
	}
	if fields > c.equal && c.equal < len(d.Fields) && isSlice(d, c.equal) {
		c.plan.Once = d.Fields[c.equal]
	}
	c.plan.Says = c.said(d, clauses, r.Hidden)
	c.rest = len(clauses) - len(c.used)
	if c.rest > 0 || c.plan.Once != "" {
		c.plan.Filter = []erased.Conjunction{clauses}
	}
	return c, c.plan.Filter == nil || r.CanFilter
}

// chooseRecords returns how the records themselves, in the order of their ids, serve clauses: by those
// on the id.
func (r *Request) chooseRecords(clauses erased.Conjunction) (c choice, ok bool) {
	c.plan.Index = erased.ByID
	c.useID(clauses, r.ID)
	c.plan.Says = c.said(&index.Definition{}, clauses, nil)
	if c.rest = len(clauses) - len(c.used); c.rest > 0 {
		c.plan.Filter = []erased.Conjunction{clauses}
	}
	return c, len(c.used) > 0 && (c.rest == 0 || r.CanFilter)
}

// intersections returns the pairs of indexes that serve more clauses together than
// each alone. Both have equality on all of their fields, so that their entries are in
// the order of ids.
func (r *Request) intersections(single []choice, clauses erased.Conjunction) (all []choice) {
	for i := range single {
		for j := range single[:i] {
			if c, ok := r.intersect(&single[j], &single[i], clauses); ok {
				all = append(all, c)
			}
		}
	}
	return all
}

// intersect returns the choice of two indexes.
func (r *Request) intersect(a, b *choice, clauses erased.Conjunction) (c choice, ok bool) {
	if !byID(r.Indexes, &a.plan) || !byID(r.Indexes, &b.plan) {
		return c, false
	}
	c = choice{plan: a.plan, equal: a.equal, used: slices.Clone(a.used)}
	for _, at := range b.used {
		if !slices.Contains(c.used, at) {
			c.used = append(c.used, at)
		}
	}
	other := b.plan
	other.Filter = nil
	c.plan.Both, c.rest = &other, len(clauses)-len(c.used)
	if c.rest == 0 {
		c.plan.Filter = nil
	}
	return c, len(c.used) > len(a.used) && len(c.used) > len(b.used)
}

// splitUnequal returns the alternatives, of which those with NotEqual are ranges around its
// values where an index serves these: the others leave it to the filter.
func (r *Request) splitUnequal() (all []erased.Conjunction) {
	left := erased.MostAlternatives - len(r.Alternatives)
	for _, clauses := range r.Alternatives {
		lanes := r.split(clauses)
		if len(lanes)-1 > left {
			lanes = []erased.Conjunction{clauses}
		}
		left -= len(lanes) - 1
		all = append(all, lanes...)
	}
	return all
}

// split returns clauses, or the ranges around the values to which one field is not equal: of
// that field for which the best index leaves fewer clauses to the filter. An index by which
// more fields are equal to a value is better than such ranges, which leave out little.
func (r *Request) split(clauses erased.Conjunction) []erased.Conjunction {
	best := []erased.Conjunction{clauses}
	fewest, _ := r.leftOver(best)
	equal := 0
	for _, c := range r.choicesFor(clauses) {
		equal = max(equal, c.equal)
	}
	for i, c := range clauses {
		isSame := func(other erased.Clause) bool { return other.Comparison == erased.NotEqual && other.Field == c.Field }
		if c.Comparison != erased.NotEqual || slices.ContainsFunc(clauses[:i], isSame) {
			continue
		}
		lanes := rangesAround(c.Field, clauses)
		if left, equals := r.leftOver(lanes); left < fewest && equals >= equal {
			best, fewest = lanes, left
		}
	}
	return best
}

// leftOver returns how many clauses the best choices leave to the filter, and how many fields
// of each have equality. A choice that reads at most one record leaves none; a lane without a
// choice counts as the most.
func (r *Request) leftOver(lanes []erased.Conjunction) (most, equal int) {
	equal = math.MaxInt
	for _, clauses := range lanes {
		all := r.choicesFor(clauses)
		if len(lanes) > 1 {
			all = slices.DeleteFunc(all, func(c choice) bool { return !c.isLane() })
		}
		if len(all) == 0 {
			return math.MaxInt, 0
		}
		equal = min(equal, all[0].equal)
		if !isOne(r.Indexes, &all[0].plan) {
			most = max(most, all[0].rest)
		}
	}
	return most, equal
}

// rangesAround returns clauses with ranges between the values to which a field is not equal.
func rangesAround(field string, clauses erased.Conjunction) (lanes []erased.Conjunction) {
	var others erased.Conjunction
	var values [][]byte
	for _, c := range clauses {
		if c.Field == field && c.Comparison == erased.NotEqual {
			values = append(values, c.Value)
		} else {
			others = append(others, c)
		}
	}
	slices.SortFunc(values, bytes.Compare)
	values = slices.CompactFunc(values, bytes.Equal)
	for i := range len(values) + 1 {
		lane := slices.Clone(others)
		if i > 0 {
			lane = append(lane, erased.Clause{Field: field, Comparison: erased.After, Value: values[i-1]})
		}
		if i < len(values) {
			lane = append(lane, erased.Clause{Field: field, Comparison: erased.Before, Value: values[i]})
		}
		lanes = append(lanes, lane)
	}
	return lanes
}
