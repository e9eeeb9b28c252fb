// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSchemaValues writes what appends the value of a field that conditions can name.
func (e *emitter) writeSchemaValues(r *model.Record) {
	fields := r.QueryFields()
	if len(fields) == 0 {
		return
	}
	e.printf("Values: func(field string, b []byte, record any) []byte {\nv := record.(*%s)\nswitch field {", e.recordType(r))
	for _, c := range fields {
		e.printf("case %q:", c.Name())
		e.writeValue(c)
	}
	e.printf("}\nreturn b\n},")
}

// writeValue appends the value of a component to b; of a slice, each element.
func (e *emitter) writeValue(c *model.Component) {
	switch {
	case c.Slice:
		e.printf("for _, element := range %s {\nb = %s\n}", c.Selector(), e.appendKey(c.Element, "b", "element"))
	case c.Nullable:
		e.printf("if %s {\nb = %s.AppendNil(b)\n} else {\nb = %s\n}", strings.Join(c.NullConditions(), " || "),
			e.importPackage(model.TuplePath), e.appendKey(c.Element, "b", c.Value()))
	default:
		e.printf("b = %s", e.appendKey(c.Element, "b", c.Value()))
	}
}
