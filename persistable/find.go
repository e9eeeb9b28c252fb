// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// find returns the query of the records that fulfil all conditions.
func (s *source) find(conditions []erased.Clause) (*erased.Query, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	equals, ranges, err := s.sort(conditions)
	if err != nil {
		return nil, err
	}
	var plans []plan
	for _, i := range s.record.fitting(equals, ranges) {
		plans = append(plans, s.record.plan(i, equals, ranges))
	}
	if len(plans) == 0 {
		return nil, s.record.noIndex(conditions, nullReason(equals))
	}
	return erased.NewQuery(erased.QuerySpec{Source: s.erased(), Plan: plans[0], Others: plans[1:]}), nil
}

// sort separates equalities, by field, from ranges, which must be on one field.
func (s *source) sort(conditions []erased.Clause) (equals map[string][]byte, ranges []erased.Clause, err error) {
	equals = make(map[string][]byte)
	for _, c := range conditions {
		if c.Comparison != erased.Equal {
			ranges = append(ranges, c)
			continue
		}
		if _, twice := equals[c.Field]; twice {
			return nil, nil, s.record.noIndex(conditions, "no index has one field twice, as in")
		}
		equals[c.Field] = c.Value
	}
	for _, c := range ranges {
		if _, too := equals[c.Field]; too || c.Field != ranges[0].Field {
			return nil, nil, s.record.noIndex(conditions, "no index serves a range and more on")
		}
	}
	if len(conditions) == 0 {
		return nil, nil, s.record.noIndex(conditions, "no condition is given: give one for the first field of an index, or read all records by Scan")
	}
	return equals, ranges, nil
}

// fitting returns the indexes that serve the conditions, the best first.
func (r *record) fitting(equals map[string][]byte, ranges []erased.Clause) []int {
	var fit []int
	for i := range r.Indexes {
		if fits(&r.Indexes[i], equals, ranges) {
			fit = append(fit, i)
		}
	}
	slices.SortStableFunc(fit, func(a, b int) int { return r.rank(a, len(equals)) - r.rank(b, len(equals)) })
	return fit
}

func fits(d *index.Definition, equals map[string][]byte, ranges []erased.Clause) bool {
	n := len(equals)
	if len(d.Fields) < n {
		return false
	}
	for _, field := range d.Fields[:n] {
		if _, ok := equals[field]; !ok {
			return false
		}
	}
	if len(ranges) > 0 {
		if len(d.Fields) == n || d.Fields[n] != ranges[0].Field {
			return false
		}
		n++
	}
	return complete(d, n, equals, ranges)
}

// complete reports whether an index has, once each, all records that fulfil
// conditions on its first n fields: none may be missing because of a null or an
// empty slice.
func complete(d *index.Definition, n int, equals map[string][]byte, ranges []erased.Clause) bool {
	for i, field := range d.Fields {
		if !slices.Contains(d.Sparse, field) {
			continue
		}
		v, ok := equals[field]
		switch {
		case i >= n, ok && tuple.IsNil(v):
			return false
		case !ok && !excludeNull(ranges) && !isSlice(d, i):
			return false // the range has nulls, which sort first; the index has not
		}
	}
	return true
}

// excludeNull reports whether a value must be above null to be in the range.
func excludeNull(ranges []erased.Clause) bool {
	return slices.ContainsFunc(ranges, func(c erased.Clause) bool {
		return c.Comparison == erased.After || c.Comparison == erased.From && !tuple.IsNil(c.Value)
	})
}

// isSlice reports whether the i-th field of an index is a slice.
func isSlice(d *index.Definition, i int) bool {
	kinds := strings.Split(d.Signature, ",")
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}

// rank orders fitting indexes: a unique one given whole, then by fields.
func (r *record) rank(i, equals int) int {
	d := &r.Indexes[i]
	if d.Unique && len(d.Fields) == equals {
		return -1
	}
	return len(d.Fields)
}

func (r *record) plan(i int, equals map[string][]byte, ranges []erased.Clause) plan {
	var values []byte
	for _, field := range r.Indexes[i].Fields[:len(equals)] {
		values = append(values, equals[field]...)
	}
	b := index.Bounds{}.Equal(values)
	for _, c := range ranges {
		b = c.Narrow(b, c.Value)
	}
	return plan{Index: i, Bounds: b}
}

func (r *record) noIndex(conditions []erased.Clause, reason string) error {
	e := &NoIndexError{Type: r.Type, Reason: reason}
	for _, c := range conditions {
		e.Fields = append(e.Fields, c.Field)
	}
	for i := range r.Indexes {
		e.Indexes = append(e.Indexes, r.Indexes[i].Fields)
	}
	return e
}
