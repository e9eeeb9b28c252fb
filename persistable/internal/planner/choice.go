// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// choice is one way to serve a conjunction.
type choice struct {
	plan  erased.Plan
	equal int   // how many fields of the index have equality
	used  []int // the clauses that the range of the index says
	rest  int   // how many clauses are left to the filter
}

// useClauses makes the bounds of an index, and returns how many of its fields have a
// clause.
func (c *choice) useClauses(d *index.Definition, clauses erased.Conjunction) (fields int) {
	var values []byte
	for _, field := range d.Fields {
		at := slices.IndexFunc(clauses, func(l erased.Clause) bool { return l.Field == field && l.Comparison == erased.Equal })
		if at < 0 {
			break
		}
		values = appendValue(values, d, c.equal, clauses[at].Value)
		c.used = append(c.used, at)
		c.equal++
	}
	c.plan.Bounds = index.Bounds{}.Equal(values)
	if c.equal == len(d.Fields) {
		return c.equal
	}
	for at, l := range clauses {
		if l.Field == d.Fields[c.equal] && l.Comparison != erased.NotEqual {
			c.narrow(d, &l)
			c.used = append(c.used, at)
			fields = 1
		}
	}
	return c.equal + fields
}

// narrow narrows the bounds by a range on the field behind those with equality.
func (c *choice) narrow(d *index.Definition, l *erased.Clause) {
	if d.IsDescending(c.equal) {
		c.plan.Bounds = l.NarrowDescending(c.plan.Bounds, l.Value)
	} else {
		c.plan.Bounds = l.Narrow(c.plan.Bounds, l.Value)
	}
}

// said returns the clauses that the range says. What else the predicate of a partial index
// says is not known: the records of its range fulfil all clauses, or may be others.
func (c *choice) said(d *index.Definition, clauses erased.Conjunction) (said erased.Conjunction) {
	if d.Where != "" {
		return clauses
	}
	for _, at := range c.used {
		said = append(said, clauses[at])
	}
	return said
}

// appendValue appends the value of the i-th field as the index has it.
func appendValue(key []byte, d *index.Definition, i int, value []byte) []byte {
	n := len(key)
	key = append(key, value...)
	if d.IsDescending(i) {
		return index.Descend(key, n)
	}
	return key
}

// equalFields returns how many fields of the index have equality.
func equalFields(p *erased.Plan) (n int) {
	for values := p.Bounds.EqualValues(); len(values) > 0; n++ {
		rest, err := tuple.Skip(values)
		if err != nil {
			break
		}
		values = rest
	}
	return n
}

// isOne reports whether the range has one entry at most.
func isOne(indexes []index.Definition, p *erased.Plan) bool {
	d := &indexes[p.Index]
	return d.Unique && len(d.Fields) == equalFields(p)
}

// byID reports whether the range is in the order of ids.
func byID(indexes []index.Definition, p *erased.Plan) bool {
	d := &indexes[p.Index]
	return !d.Unique && len(d.Fields) == equalFields(p)
}

// hasAllRecords reports whether an index whose first n fields have clauses has all
// records, each once, that fulfil the clauses: none may be missing because of a null or
// an empty slice.
func hasAllRecords(d *index.Definition, n int, clauses erased.Conjunction) bool {
	for i, field := range d.Fields {
		switch {
		case isSlice(d, i):
			if i >= n {
				return false
			}
		case slices.Contains(d.Sparse, field):
			if !slices.ContainsFunc(clauses, func(c erased.Clause) bool { return c.Field == field && excludesNull(&c) }) {
				return false
			}
		}
	}
	return true
}

// excludesNull reports whether null does not fulfil a clause.
func excludesNull(c *erased.Clause) bool {
	switch c.Comparison {
	case erased.Equal, erased.From:
		return !tuple.IsNil(c.Value)
	case erased.After:
		return true
	}
	return false // null sorts first
}

// wantsNull reports whether a field must be null.
func wantsNull(c erased.Clause) bool { return c.Comparison == erased.Equal && tuple.IsNil(c.Value) }

// isSlice reports whether the i-th field of an index is a slice.
func isSlice(d *index.Definition, i int) bool {
	kinds := d.Kinds()
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}
