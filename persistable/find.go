// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// Field is an indexed field of T with values of type F: what conditions are
// made of. Generated code has one for each.
type Field[T, F any] struct {
	name string
	enc  func([]byte, F) []byte
}

// FieldOf returns the field with that name, whose values enc appends as tuple
// elements. It is for generated code.
func FieldOf[T, F any](name string, enc func([]byte, F) []byte) Field[T, F] {
	return Field[T, F]{name, enc}
}

// Name returns the field's name.
func (f Field[T, F]) Name() string { return f.name }

// Equal is the condition that the field is v. A field that is a slice must have
// v as an element.
func (f Field[T, F]) Equal(v F) Condition[T] { return f.condition(equal, v) }

// From is the condition that the field is not below v.
func (f Field[T, F]) From(v F) Condition[T] { return f.condition(from, v) }

// After is the condition that the field is above v.
func (f Field[T, F]) After(v F) Condition[T] { return f.condition(after, v) }

// To is the condition that the field is not above v.
func (f Field[T, F]) To(v F) Condition[T] { return f.condition(to, v) }

// Before is the condition that the field is below v.
func (f Field[T, F]) Before(v F) Condition[T] { return f.condition(before, v) }

func (f Field[T, F]) condition(o comparison, v F) Condition[T] {
	return Condition[T]{f.name, o, f.enc(nil, v)}
}

// Condition is a condition on one field of T.
type Condition[T any] struct {
	field string
	comparison
	value []byte // a tuple element
}

type comparison int

const (
	equal comparison = iota
	from
	after
	to
	before
)

// Find returns the query of the records that fulfil all conditions. It picks
// the index whose first fields are those with equality, in any order, and whose
// next field is the one with a range, if there is one: a unique index first,
// then the one with the fewest fields. Where none fits it returns a
// *[NoIndexError]: no query reads records to throw them away.
func (s Store[T, ID]) Find(conditions ...Condition[T]) (Query[T], error) {
	if err := s.usable(); err != nil {
		return Query[T]{}, err
	}
	equals, ranges, err := s.sort(conditions)
	if err != nil {
		return Query[T]{}, err
	}
	var plans []plan
	for _, i := range s.record.fitting(equals, ranges) {
		plans = append(plans, s.record.plan(i, equals, ranges))
	}
	if len(plans) == 0 {
		return Query[T]{}, s.record.noIndex(conditions, nullReason(equals))
	}
	return Query[T]{source: s.source, plan: plans[0], others: plans[1:]}, nil
}

// FindOne returns the first record that fulfils all conditions, in the order of
// the index that [Store.Find] picks, or [ErrNotFound].
func (s Store[T, ID]) FindOne(ctx context.Context, conditions ...Condition[T]) (*T, error) {
	q, err := s.Find(conditions...)
	if err != nil {
		return nil, err
	}
	return q.First(ctx)
}

// sort separates equalities, by field, from ranges, which must be on one field.
func (s *source[T]) sort(conditions []Condition[T]) (equals map[string][]byte, ranges []Condition[T], err error) {
	equals = make(map[string][]byte)
	for _, c := range conditions {
		if c.comparison != equal {
			ranges = append(ranges, c)
			continue
		}
		if _, twice := equals[c.field]; twice {
			return nil, nil, s.record.noIndex(conditions, "no index has one field twice, as in")
		}
		equals[c.field] = c.value
	}
	for _, c := range ranges {
		if _, too := equals[c.field]; too || c.field != ranges[0].field {
			return nil, nil, s.record.noIndex(conditions, "no index serves a range and more on")
		}
	}
	if len(conditions) == 0 {
		return nil, nil, s.record.noIndex(conditions, "no condition is given: give one for the first field of an index, or read all records by Scan")
	}
	return equals, ranges, nil
}

// fitting returns the indexes that serve the conditions, the best first.
func (r *record[T]) fitting(equals map[string][]byte, ranges []Condition[T]) []int {
	var fit []int
	for i := range r.indexes {
		if fits(&r.indexes[i].Definition, equals, ranges) {
			fit = append(fit, i)
		}
	}
	slices.SortStableFunc(fit, func(a, b int) int { return r.rank(a, len(equals)) - r.rank(b, len(equals)) })
	return fit
}

func fits[T any](d *index.Definition, equals map[string][]byte, ranges []Condition[T]) bool {
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
		if len(d.Fields) == n || d.Fields[n] != ranges[0].field {
			return false
		}
		n++
	}
	return complete(d, n, equals, ranges)
}

// complete reports whether an index has, once each, all records that fulfil
// conditions on its first n fields: none may be missing because of a null or an
// empty slice.
func complete[T any](d *index.Definition, n int, equals map[string][]byte, ranges []Condition[T]) bool {
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
func excludeNull[T any](ranges []Condition[T]) bool {
	return slices.ContainsFunc(ranges, func(c Condition[T]) bool {
		return c.comparison == after || c.comparison == from && !tuple.IsNil(c.value)
	})
}

// isSlice reports whether the i-th field of an index is a slice.
func isSlice(d *index.Definition, i int) bool {
	kinds := strings.Split(d.Signature, ",")
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}

// rank orders fitting indexes: a unique one given whole, then by fields.
func (r *record[T]) rank(i, equals int) int {
	d := &r.indexes[i].Definition
	if d.Unique && len(d.Fields) == equals {
		return -1
	}
	return len(d.Fields)
}

func (r *record[T]) plan(i int, equals map[string][]byte, ranges []Condition[T]) plan {
	var values []byte
	for _, field := range r.indexes[i].Fields[:len(equals)] {
		values = append(values, equals[field]...)
	}
	b := index.Bounds{}.Equal(values)
	for _, c := range ranges {
		switch c.comparison {
		case from:
			b = b.From(c.value)
		case after:
			b = b.After(c.value)
		case to:
			b = b.To(c.value)
		case before:
			b = b.Before(c.value)
		}
	}
	return plan{index: i, bounds: b}
}

func (r *record[T]) noIndex(conditions []Condition[T], reason string) error {
	e := &NoIndexError{Type: r.typ, Reason: reason}
	for _, c := range conditions {
		e.Fields = append(e.Fields, c.field)
	}
	for i := range r.indexes {
		e.Indexes = append(e.Indexes, r.indexes[i].Fields)
	}
	return e
}
