// SPDX-License-Identifier: Apache-2.0

package model

import (
	"strings"
)

// Component is one field of an index: a path of fields through nested structs.
type Component struct {
	Steps    []*Field
	Nullable bool  // some step is a pointer
	Element  *Kind // the kind that goes into the key: pointers and one slice taken off
	Slice    bool
}

// Selector is the Go expression of the component below v.
func (c *Component) Selector() string {
	expression := "v"
	for _, s := range c.Steps {
		expression = s.Selector(expression)
	}
	return expression
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
