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
	Value []byte // a tuple element; of a Prefix as PrefixOf returns it
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
	case Prefix:
		return bytes.HasPrefix(element, c.Value)
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

// Condition is conjunctions of which one must hold. The zero Condition is absent: it says
// nothing.
type Condition struct {
	clause       Clause
	alternatives []Conjunction // nil: clause alone
	many         bool          // more than MostAlternatives
}

// isAbsent reports whether the condition says nothing.
func (c *Condition) isAbsent() bool {
	return c.alternatives == nil && !c.many && c.clause.Field == ""
}

// Alternatives returns the conjunctions of which one must hold: an empty one for a condition that
// is absent. ok is false if they are more than [MostAlternatives].
func (c *Condition) Alternatives() (all []Conjunction, ok bool) {
	switch {
	case c.isAbsent():
		return []Conjunction{nil}, true
	case c.alternatives == nil && !c.many:
		return []Conjunction{{c.clause}}, true
	}
	return c.alternatives, !c.many
}

// areAbsent reports whether all of some conditions are absent.
func areAbsent(conditions []Condition) bool {
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return !c.isAbsent() })
}

// AllOf returns the condition that all of some conditions hold: every
// combination of their alternatives is one. It is absent if all of them are.
func AllOf(conditions []Condition) Condition {
	if areAbsent(conditions) {
		return Condition{}
	}
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

// AnyOf returns the condition that at least one of some conditions holds. It leaves out those
// that are absent, and is absent if there are only such.
func AnyOf(conditions []Condition) Condition {
	if len(conditions) > 0 && areAbsent(conditions) {
		return Condition{}
	}
	sum := Condition{alternatives: []Conjunction{}}
	for i := range conditions {
		if conditions[i].isAbsent() {
			continue
		}
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

// HasPrefix returns the condition that the field begins with a prefix.
func (f *Field[F]) HasPrefix(prefix string) Condition {
	return Condition{clause: Clause{f.name, Prefix, beginning(f.encode, prefix)}}
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
