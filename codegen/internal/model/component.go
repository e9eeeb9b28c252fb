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

	Descending bool // the key holds it in descending order
}

// isPointer reports whether the last step is a pointer.
func (c *Component) isPointer() bool { return c.Steps[len(c.Steps)-1].Kind.Form == FormPointer }

// isOpaque reports whether the component has no place in a key: a predicate may compare
// it with null only.
func (c *Component) isOpaque() bool {
	switch c.Element.Form {
	case FormMessage, FormBinary, FormText, FormMap:
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
