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

// mostPlans is how many plans [Plans] returns at most: the token of a page has one
// byte for the number of the plan.
const mostPlans = 250

// Plans returns the plans that serve the alternatives, the best first: the others are
// for stores whose indexes are not all readable. If there is none it returns what
// is said before the list of the conditions' fields, empty if it is simply that
// no index begins with them.
func Plans(r Request) (plans []erased.Plan, reason string) {
	if len(r.Alternatives) == 0 {
		return []erased.Plan{{Index: erased.ByID, Bounds: index.Bounds{}.EndBefore([]byte{})}}, "" // In of no values: an empty range
	}
	lanes := make([][]choice, len(r.Alternatives))
	for i, clauses := range r.Alternatives {
		if len(clauses) == 0 {
			return nil, "no condition is given: give one for the first field of an index, or read all records by Scan"
		}
		lanes[i] = r.choicesFor(clauses)
		if len(lanes[i]) == 0 {
			return r.scan(), r.reason(clauses)
		}
	}
	for rank := 0; rank < mostPlans; rank++ {
		chosen, left := chooseRank(lanes, rank)
		if !left {
			break
		}
		if p, ok := r.combine(chosen); ok {
			plans = append(plans, p)
		}
	}
	if len(plans) == 0 {
		return r.scan(), "no index serves all alternatives of the conditions on"
	}
	return append(plans, r.scan()...), ""
}

// chooseRank takes the choice of a rank for each lane, or its last. left is false
// if no lane has that many.
func chooseRank(lanes [][]choice, rank int) (chosen []choice, left bool) {
	for _, lane := range lanes {
		chosen = append(chosen, lane[min(rank, len(lane)-1)])
		left = left || rank < len(lane)
	}
	return chosen, left
}

// scan returns the plan that reads all records, if that is allowed.
func (r *Request) scan() []erased.Plan {
	if !r.AllowScan || !r.CanFilter {
		return nil
	}
	return []erased.Plan{{Index: erased.ByID, Filter: r.Alternatives}}
}

// reason says why no index serves clauses.
func (r *Request) reason(clauses erased.Conjunction) string {
	if slices.ContainsFunc(clauses, wantsNull) {
		return "no index that has records with null, as a unique one has not, begins with"
	}
	return ""
}

// combine makes a plan of one choice for each alternative.
func (r *Request) combine(chosen []choice) (erased.Plan, bool) {
	if len(chosen) == 1 {
		return chosen[0].plan, true
	}
	u := &erased.Union{Alternatives: r.Alternatives, Merged: areMerged(r.Indexes, chosen), Disjoint: r.areDisjoint()}
	for _, c := range chosen {
		if c.plan.Both != nil {
			return erased.Plan{}, false // a lane is one range
		}
		u.Lanes = append(u.Lanes, c.plan)
	}
	return erased.Plan{Index: chosen[0].plan.Index, Union: u}, u.Disjoint || r.CanFilter
}

// areMerged reports whether the keys of all lanes have one order behind the values
// with equality: that of the same fields, or that of ids.
func areMerged(indexes []index.Definition, chosen []choice) bool {
	byID, oneIndex := true, true
	for i := range chosen {
		c, first := &chosen[i], &chosen[0]
		byID = byID && c.byID(indexes)
		oneIndex = oneIndex && c.plan.Index == first.plan.Index && c.equal == first.equal && !c.isOne(indexes)
	}
	return byID || oneIndex
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
