// SPDX-License-Identifier: Apache-2.0

package planner

import (
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
	if !a.byID(r.Indexes) || !b.byID(r.Indexes) {
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
