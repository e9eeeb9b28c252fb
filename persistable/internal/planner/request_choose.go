// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// choicesFor returns the ways to serve clauses, the best first: a unique index all of
// whose fields have equality; then those that leave the fewest clauses to the
// filter; of these a single index before two, and the one with the fewest fields.
func (r *Request) choicesFor(clauses erased.Conjunction) (all []choice) {
	for i := range r.Indexes {
		if c, ok := r.choose(i, clauses); ok {
			all = append(all, c)
		}
	}
	all = append(all, r.intersections(all, clauses)...)
	slices.SortStableFunc(all, func(a, b choice) int {
		return cmp.Or(
			compareFalse(isOne(r.Indexes, &a.plan), isOne(r.Indexes, &b.plan)),
			cmp.Compare(a.rest, b.rest),
			compareFalse(a.plan.Both == nil, b.plan.Both == nil),
			cmp.Compare(len(r.Indexes[a.plan.Index].Fields), len(r.Indexes[b.plan.Index].Fields)),
		)
	})
	return all
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
	if d.Kind != index.Value || !isImplied(d.Where, clauses) {
		return c, false
	}
	c.plan.Index = i
	fields := c.useClauses(d, clauses)
	for at := range clauses {
		if !slices.Contains(c.used, at) && isSaid(d.Where, &clauses[at]) {
			c.used = append(c.used, at)
		}
	}
	if len(c.used) == 0 || !hasAllRecords(d, fields, clauses) {
		return c, false
	}
	if fields > c.equal && isSlice(d, c.equal) {
		c.plan.Once = d.Fields[c.equal]
	}
	c.plan.Says = c.said(d, clauses)
	c.rest = len(clauses) - len(c.used)
	if c.rest > 0 || c.plan.Once != "" {
		c.plan.Filter = []erased.Conjunction{clauses}
	}
	return c, c.plan.Filter == nil || r.CanFilter
}
