// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"bytes"
	"math"
	"slices"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

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
			all = slices.DeleteFunc(all, func(c choice) bool { return c.plan.Both != nil })
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
