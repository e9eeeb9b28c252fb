// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"strings"
)

// Component is one field of an index: a path of fields through nested structs.
type Component struct {
	Steps    []*Field
	Nullable bool  // some step is a pointer
	Element  *Kind // the kind that goes into the key: pointers and one slice taken off
	Slice    bool

	Descending bool // the key holds it in descending order
}

// isPointer reports whether the last step is a pointer.
func (c *Component) isPointer() bool { return c.Steps[len(c.Steps)-1].Kind.Form == FormPointer }

// isOpaque reports whether the component has no place in a key: a predicate may compare
// it with null only.
func (c *Component) isOpaque() bool {
	switch c.Element.Form {
	case FormMessage, FormBinary, FormText, FormBlob, FormMap:
		return true
	}
	return false
}

// keyText is the kind of the component as a signature has it: a field that may be
// null has another kind, because a record does not store the zero of a field that may
// not, which would be read as null.
func (c *Component) keyText() string {
	text := c.Element.KeyText()
	if c.Nullable {
		text = "*" + text
	}
	if c.Slice {
		text = "[]" + text
	}
	return text
}

// Selector is the Go expression of the component below v.
func (c *Component) Selector() string {
	expression := "v"
	for _, s := range c.Steps {
		expression = s.Selector(expression)
	}
	return expression
}

// Value is the Go expression of the component's value below v, where it is not null.
func (c *Component) Value() string {
	if c.isPointer() {
		return "*" + c.Selector()
	}
	return c.Selector()
}

// NullConditions are the conditions under which the component is null.
func (c *Component) NullConditions() []string {
	var list []string
	expression := "v"
	for _, s := range c.Steps {
		expression = s.Selector(expression)
		if s.Kind.Form == FormPointer {
			list = append(list, expression+" == nil")
		}
	}
	return list
}

// fieldNames are the key-stable names of components.
func fieldNames(components []*Component) []string {
	var names []string
	for _, c := range components {
		names = append(names, c.Name())
	}
	return names
}

// goFields joins the Go names of components, as method names do.
func goFields(components []*Component) string {
	var b strings.Builder
	for _, c := range components {
		b.WriteString(c.GoName())
	}
	return b.String()
}

// GoName joins the Go names of the steps: AddressCity.
func (c *Component) GoName() string {
	var b strings.Builder
	for _, s := range c.Steps {
		b.WriteString(Exported(s.GoName))
	}
	return b.String()
}

// Name joins the key-stable names of the steps: Address.City.
func (c *Component) Name() string {
	names := make([]string, len(c.Steps))
	for i, s := range c.Steps {
		names[i] = s.Name
	}
	return strings.Join(names, ".")
}

// Predicate is the condition of a partial index: comparisons that must all hold.
type Predicate struct {
	Comparisons []Comparison // sorted by their text
}

// Comparison compares a field of a record with a constant, or with null.
type Comparison struct {
	Component *Component
	Operator  string // = != < <= > >=
	Constant  string // the stored value as the canonical text and as Go writes it; Null for null, Zero for the zero time
}

// The texts of constants that Go has no literals of.
const (
	Null = "null"
	Zero = "zero" // a time that is not set
)

// NewPredicate returns the predicate of these comparisons, each once and sorted, so that
// the text does not depend on how they were written. Null fulfils no comparison with a
// value, and the text says so. It therefore changes if a field becomes nullable: records
// without the field had zero before, and have null then.
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
	case Zero:
		return value + ".IsZero()"
	}
	operator := c.Operator
	if operator == "=" {
		operator = "=="
	}
	return value + " " + operator + " " + c.Constant
}
