// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
)

// Predicate is the condition of a partial index: comparisons that must all hold.
type Predicate struct {
	Comparisons []Comparison // sorted by their text
}

// Comparison compares a field of a record with a constant, or with null.
type Comparison struct {
	Component *Component
	Operator  string // = != < <= > >=
	Constant  string // the stored value as the canonical text and as Go writes it; Null for null
}

// Null is the text of the constant null.
const Null = "null"

// NewPredicate returns the predicate of these comparisons: in an order of their own, so
// that the text does not depend on how they were written, and each once. Null fulfils no
// comparison with a value, and the text says so: a field that becomes nullable, whose
// records without it were zero before and are null then, changes it.
func NewPredicate(list []Comparison) *Predicate {
	for _, c := range list {
		if c.Component.Nullable && c.Constant != Null {
			list = append(list, Comparison{Component: c.Component, Operator: "!=", Constant: Null})
		}
	}
	slices.SortFunc(list, func(a, b Comparison) int { return strings.Compare(a.text(), b.text()) })
	return &Predicate{slices.CompactFunc(list, func(a, b Comparison) bool { return a.text() == b.text() })}
}

// Text is the canonical text of the predicate. It depends on stored names and values
// only: what decides whether a record has an entry.
func (p *Predicate) Text() string {
	if p == nil {
		return ""
	}
	parts := make([]string, len(p.Comparisons))
	for i, c := range p.Comparisons {
		parts[i] = c.text()
	}
	return strings.Join(parts, " and ")
}

func (c Comparison) text() string { return c.Component.Name() + c.Operator + c.Constant }

// Components are the distinct fields of the predicate.
func (p *Predicate) Components() (list []*Component) {
	if p == nil {
		return nil
	}
	for _, c := range p.Comparisons {
		if !slices.ContainsFunc(list, func(other *Component) bool { return other.Name() == c.Component.Name() }) {
			list = append(list, c.Component)
		}
	}
	return list
}

// Condition is the predicate as a Go expression of the record v.
func (p *Predicate) Condition() string {
	var list []string
	add := func(condition string) {
		if !slices.Contains(list, condition) {
			list = append(list, condition)
		}
	}
	for _, c := range p.Comparisons {
		if c.Constant == Null && c.Operator == "=" {
			add(c.isNull())
			continue
		}
		for _, null := range c.Component.NullConditions() {
			add(strings.Replace(null, " == ", " != ", 1))
		}
		if c.Constant != Null {
			add(c.condition())
		}
	}
	return strings.Join(list, " && ")
}

// isNull is the condition under which the field is null.
func (c Comparison) isNull() string {
	conditions := c.Component.NullConditions()
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " || ") + ")"
}

// condition compares the field, which is not null.
func (c Comparison) condition() string {
	value := c.Component.Value()
	switch c.Constant {
	case "true":
		return value
	case "false":
		return "!" + value
	}
	operator := c.Operator
	if operator == "=" {
		operator = "=="
	}
	return value + " " + operator + " " + c.Constant
}
