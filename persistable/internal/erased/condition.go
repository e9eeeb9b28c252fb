// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"bytes"
	"slices"
)

// Clause is a condition on one field.
type Clause struct {
	Field string
	Comparison
	Value []byte // a tuple element
}

// admits reports whether a tuple element compares so with the clause's value.
func (c *Clause) admits(element []byte) bool {
	order := bytes.Compare(element, c.Value)
	switch c.Comparison {
	case Equal:
		return order == 0
	case From:
		return order >= 0
	case After:
		return order > 0
	case To:
		return order <= 0
	case NotEqual:
		return order != 0
	default:
		return order < 0
	}
}

// isRangeBeside reports whether another clause is a range on the same field.
func (c *Clause) isRangeBeside(other Clause) bool {
	return other.Comparison != Equal && other.Field == c.Field
}

// admitsWith reports whether the clause holds of an element, and, if it is a range,
// those on the same field do.
func (c *Clause) admitsWith(others Conjunction, element []byte) bool {
	if c.Comparison == Equal {
		return bytes.Equal(element, c.Value)
	}
	for i := range others {
		if other := &others[i]; c.isRangeBeside(*other) && !other.admits(element) {
			return false
		}
	}
	return true
}

// Conjunction is clauses that must all hold.
type Conjunction []Clause

// MostAlternatives is how many alternatives the conditions of a query may have.
const MostAlternatives = 256

// Condition is conjunctions of which one must hold.
type Condition struct {
	clause       Clause
	alternatives []Conjunction // nil: clause alone
	many         bool          // more than MostAlternatives
}

// Alternatives returns the conjunctions of which one must hold. ok is false if they
// are more than [MostAlternatives].
func (c *Condition) Alternatives() (all []Conjunction, ok bool) {
	if c.alternatives == nil && !c.many {
		return []Conjunction{{c.clause}}, true
	}
	return c.alternatives, !c.many
}

// AllOf returns the condition that all of some conditions hold: every
// combination of their alternatives is one.
func AllOf(conditions []Condition) Condition {
	product := []Conjunction{nil}
	for i := range conditions {
		factors, ok := conditions[i].Alternatives()
		if !ok || len(product)*len(factors) > MostAlternatives {
			return Condition{many: true}
		}
		next := make([]Conjunction, 0, len(product)*len(factors))
		for _, left := range product {
			for _, right := range factors {
				next = append(next, slices.Concat(left, right))
			}
		}
		product = next
	}
	return Condition{alternatives: product}
}

// AnyOf returns the condition that at least one of some conditions holds.
func AnyOf(conditions []Condition) Condition {
	sum := Condition{alternatives: []Conjunction{}}
	for i := range conditions {
		more, ok := conditions[i].Alternatives()
		sum.alternatives = append(sum.alternatives, more...)
		sum.many = sum.many || !ok
	}
	sum.many = sum.many || len(sum.alternatives) > MostAlternatives
	return sum
}

// Field is a field with values of type F.
type Field[F any] struct {
	name   string
	encode func([]byte, F) []byte
}

// NewField returns the field with that name; encode appends its values as
// tuple elements.
func NewField[F any](name string, encode func([]byte, F) []byte) Field[F] {
	return Field[F]{name, encode}
}

// Where returns the condition that the field compares so with v.
func (f *Field[F]) Where(c Comparison, v F) Condition {
	return Condition{clause: Clause{f.name, c, f.encode(nil, v)}}
}

// In returns the condition that the field is one of some values.
func (f *Field[F]) In(values []F) Condition {
	encoded := make([][]byte, len(values))
	for i, v := range values {
		encoded[i] = f.encode(nil, v)
	}
	slices.SortFunc(encoded, bytes.Compare)
	in := Condition{alternatives: []Conjunction{}}
	for _, v := range slices.CompactFunc(encoded, bytes.Equal) {
		in.alternatives = append(in.alternatives, Conjunction{{f.name, Equal, v}})
	}
	in.many = len(in.alternatives) > MostAlternatives
	return in
}
