// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeGroupTypes writes the types of groups of several fields, with the functions that
// read them from keys.
func (e *emitter) writeGroupTypes(r *model.Record) {
	written := map[string]bool{}
	for _, d := range r.Indexes {
		name := model.GroupType(r, d.Components)
		if !d.HasGroups() || written[name] {
			continue
		}
		written[name] = true
		e.printf("// %s is a group of records: the values that they have in common.", name)
		e.printf("type %s struct {", name)
		for _, c := range d.Components {
			e.printf("%s %s", c.GoName(), e.componentType(c))
		}
		e.printf("}\n")
		e.writeGroupReader(name, d)
	}
}

// writeGroupReader writes the function that reads a group from a key.
func (e *emitter) writeGroupReader(name string, d *model.Index) {
	e.printf("// %s reads the values of a group from a key.", model.Reader(name))
	e.printf("func %s(b []byte) (v %s, rest []byte, err error) {", model.Reader(name), name)
	from := "b"
	for _, c := range d.Components {
		e.printf("if v.%s, rest, err = %s(%s); err != nil {\nreturn v, nil, err\n}", c.GoName(), e.componentDecoder(c), from)
		from = "rest"
	}
	e.printf("return v, rest, nil\n}\n")
}

// groupType is the type of the groups of a Count or Sum: that of its only field, or a
// struct.
func (e *emitter) groupType(r *model.Record, d *model.Index) string {
	if d.HasGroups() {
		return model.GroupType(r, d.Components)
	}
	return e.componentType(d.Components[0])
}

// groupReader is the function value that reads a group from a key.
func (e *emitter) groupReader(r *model.Record, d *model.Index) string {
	if d.HasGroups() {
		return model.Reader(model.GroupType(r, d.Components))
	}
	return e.componentDecoder(d.Components[0])
}

// componentDecoder is the function value that reads a component from a key.
func (e *emitter) componentDecoder(c *model.Component) string {
	decoder := e.keyDecoder(c.Element)
	if c.Nullable {
		decoder = fmt.Sprintf("%s.ReadNullable(%s)", e.importPackage(model.IndexPath), decoder)
	}
	if c.Descending {
		decoder = fmt.Sprintf("%s.ReadDescending(%s)", e.importPackage(model.IndexPath), decoder)
	}
	return decoder
}
