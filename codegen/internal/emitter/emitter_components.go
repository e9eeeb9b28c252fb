// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// componentType is the type of a component's parameter.
func (e *emitter) componentType(c *model.Component) string {
	if c.Nullable {
		return "*" + e.typeName(c.Element.GoType)
	}
	return e.typeName(c.Element.GoType)
}

// componentEncoder is the function value that appends a component to a key, in ascending
// order.
func (e *emitter) componentEncoder(c *model.Component) string {
	encoder := e.keyEncoder(c.Element)
	if c.Nullable {
		return fmt.Sprintf("%s.Nullable(%s)", e.importPackage(model.IndexPath), encoder)
	}
	return encoder
}

// componentKey is the call that appends a parameter to a key, in the order of the key.
func (e *emitter) componentKey(c *model.Component, buffer, value string) string {
	if c.Descending {
		return fmt.Sprintf("%s.Descending(%s)(%s, %s)", e.importPackage(model.IndexPath), e.componentEncoder(c), buffer, value)
	}
	return e.ascendingKey(c, buffer, value)
}

// ascendingKey is componentKey for a component in ascending order.
func (e *emitter) ascendingKey(c *model.Component, buffer, value string) string {
	if c.Nullable {
		return fmt.Sprintf("%s.AppendNullable(%s, %s, %s)", e.importPackage(model.IndexPath), buffer, value, e.keyEncoder(c.Element))
	}
	return e.appendKey(c.Element, buffer, value)
}

// componentParameters names the parameters of an index method, which has the others besides.
func (e *emitter) componentParameters(components []*model.Component, others ...string) []string {
	var goNames []string
	for _, c := range components {
		goNames = append(goNames, c.GoName())
	}
	return e.parameterNames(goNames, append(others, "s", "k", "ctx")...)
}

// keyExpression is the expression of the packed values of parameters. For more than one
// it writes statements that append them to a variable.
func (e *emitter) keyExpression(components []*model.Component, names []string) string {
	switch len(components) {
	case 0:
		return "nil"
	case 1:
		return e.componentKey(components[0], "nil", names[0])
	}
	e.printf("k := %s", e.componentKey(components[0], "nil", names[0]))
	for n, c := range components[1:] {
		e.printf("k = %s", e.componentKey(c, "k", names[n+1]))
	}
	return "k"
}
