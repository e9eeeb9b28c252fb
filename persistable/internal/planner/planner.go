// SPDX-License-Identifier: Apache-2.0

// Package planner finds the indexes that serve the conditions of a query: those
// whose first fields are the ones with equality, in any order, and whose next
// field is the one with a range, if there is one. It reads nothing.
package planner

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// Plans returns the plans that serve all conditions, the best first: a unique
// index all of whose fields have equality, then the index with the fewest fields. If
// there is none it returns what is said before the list of the conditions'
// fields, empty if it is simply that no index begins with them.
func Plans(indexes []index.Definition, conditions []erased.Clause) (plans []erased.Plan, reason string) {
	c, reason := sortConditions(conditions)
	if reason != "" {
		return nil, reason
	}
	var fitting []int
	for i := range indexes {
		if c.areServedBy(&indexes[i]) {
			fitting = append(fitting, i)
		}
	}
	slices.SortStableFunc(fitting, func(a, b int) int { return c.rankOf(&indexes[a]) - c.rankOf(&indexes[b]) })
	for _, i := range fitting {
		plans = append(plans, erased.Plan{Index: i, Bounds: c.bounds(&indexes[i])})
	}
	if len(plans) == 0 && c.hasNull() {
		reason = "no index that has records with null, as a unique one has not, begins with"
	}
	return plans, reason
}

// conditions are the conditions of a query, sorted.
type conditions struct {
	equals map[string][]byte // the values of fields that must be equal, packed
	ranges []erased.Clause   // all on one field
}

// sortConditions separates equalities from ranges, or returns why no index could
// serve the conditions.
func sortConditions(clauses []erased.Clause) (c conditions, reason string) {
	if len(clauses) == 0 {
		return c, "no condition is given: give one for the first field of an index, or read all records by Scan"
	}
	c.equals = make(map[string][]byte)
	for _, clause := range clauses {
		if clause.Comparison != erased.Equal {
			c.ranges = append(c.ranges, clause)
			continue
		}
		if _, twice := c.equals[clause.Field]; twice {
			return c, "no index has one field twice, as in"
		}
		c.equals[clause.Field] = clause.Value
	}
	for _, r := range c.ranges {
		if _, equal := c.equals[r.Field]; equal || r.Field != c.ranges[0].Field {
			return c, "no index serves a range and more on"
		}
	}
	return c, ""
}

// areServedBy reports whether an index serves the conditions.
func (c *conditions) areServedBy(d *index.Definition) bool {
	n := len(c.equals)
	if len(d.Fields) < n || d.Kind != index.Value || d.Where != "" {
		return false // an index of another kind has no entry a record, a partial one not all records
	}
	for _, field := range d.Fields[:n] {
		if _, ok := c.equals[field]; !ok {
			return false
		}
	}
	if len(c.ranges) > 0 {
		if len(d.Fields) == n || d.Fields[n] != c.ranges[0].Field {
			return false
		}
		n++
	}
	return c.hasAllRecords(d, n)
}

// hasAllRecords reports whether an index has all records, each once, that fulfil
// conditions on its first n fields: none may be missing because of a null or an
// empty slice.
func (c *conditions) hasAllRecords(d *index.Definition, n int) bool {
	for i, field := range d.Fields {
		if !slices.Contains(d.Sparse, field) {
			continue
		}
		v, equal := c.equals[field]
		switch {
		case i >= n, equal && tuple.IsNil(v):
			return false
		case !equal && !c.excludeNull() && !isSlice(d, i):
			return false // nulls, which sort first, are in the range, but not in the index
		}
	}
	return true
}

// excludeNull reports whether a value must be above null to be in the range.
func (c *conditions) excludeNull() bool {
	return slices.ContainsFunc(c.ranges, func(r erased.Clause) bool {
		return r.Comparison == erased.After || r.Comparison == erased.From && !tuple.IsNil(r.Value)
	})
}

// hasNull reports whether a field must be null.
func (c *conditions) hasNull() bool {
	for _, value := range c.equals {
		if tuple.IsNil(value) {
			return true
		}
	}
	return false
}

// isSlice reports whether the i-th field of an index is a slice.
func isSlice(d *index.Definition, i int) bool {
	kinds := strings.Split(d.Signature, ",")
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}

// rankOf orders fitting indexes: the lowest is the best.
func (c *conditions) rankOf(d *index.Definition) int {
	if d.Unique && len(d.Fields) == len(c.equals) {
		return -1
	}
	return len(d.Fields)
}

// bounds returns the range of a fitting index.
func (c *conditions) bounds(d *index.Definition) index.Bounds {
	var values []byte
	for i, field := range d.Fields[:len(c.equals)] {
		n := len(values)
		values = append(values, c.equals[field]...)
		if d.IsDescending(i) {
			values = index.Descend(values, n)
		}
	}
	b := index.Bounds{}.Equal(values)
	for _, r := range c.ranges {
		if d.IsDescending(len(c.equals)) {
			b = r.NarrowDescending(b, r.Value)
		} else {
			b = r.Narrow(b, r.Value)
		}
	}
	return b
}
