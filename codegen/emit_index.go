// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"slices"
	"strings"
)

// keyEncoder is the function value that appends a kind to a key.
func (e *emitter) keyEncoder(k *kind) string {
	if k.form == formArray {
		return e.arrayKey(k)
	}
	index := e.pkg(indexPath)
	if k.form == formTime {
		return index + ".AppendTime"
	}
	functions := map[form]string{
		formInt: "Int", formID: "Int", formDuration: "Int", formUint: "Uint", formBool: "Bool", formFloat32: "Float32",
		formFloat64: "Float64", formString: "String", formBytes: "Bytes", formUUID: "UUID", formULID: "UUID",
	}
	return fmt.Sprintf("%s.Append%s[%s]", index, functions[k.form], e.typ(k.goType))
}

// appendKey is the call that appends a value to a key.
func (e *emitter) appendKey(k *kind, buffer, value string) string {
	encoder, _, _ := strings.Cut(e.keyEncoder(k), "[") // the compiler infers the type
	return fmt.Sprintf("%s(%s, %s)", encoder, buffer, value)
}

// keyDecoder is the function value that reads a kind from a key.
func (e *emitter) keyDecoder(k *kind) string {
	if k.form == formArray {
		return e.arrayReader(k)
	}
	return strings.Replace(e.keyEncoder(k), ".Append", ".Read", 1)
}

// arrayKey is the function that appends a byte array, which index cannot have
// for all lengths.
func (e *emitter) arrayKey(k *kind) string {
	name := "appendKey" + exported(identifierOf(k.goType, e.model.types))
	e.once(name, func() {
		e.p("// %s appends a byte array to a key.", name)
		e.p("func %s(b []byte, v %s) []byte { return %s.AppendBytes(b, v[:]) }\n", name, e.typ(k.goType), e.pkg(indexPath))
	})
	return name
}

// arrayReader is the function that reads what arrayKey's appends.
func (e *emitter) arrayReader(k *kind) string {
	name := "readKey" + exported(identifierOf(k.goType, e.model.types))
	e.once(name, func() {
		e.p("// %s reads a byte array from a key.", name)
		e.p("func %s(b []byte) (v %s, rest []byte, err error) {", name, e.typ(k.goType))
		e.p("data, rest, err := %s.ReadBytes[[]byte](b)", e.pkg(indexPath))
		e.p("if err == nil && len(data) != len(v) {")
		e.p("err = %s.Errorf(\"%%d bytes where %%d belong\", len(data), len(v))", e.pkg("fmt"))
		e.p("}\ncopy(v[:], data)\nreturn v, rest, err\n}\n")
	})
	return name
}

// once has write called at the end of the file, unless it was for that name.
func (e *emitter) once(name string, write func()) {
	if e.extra == nil {
		e.extra = map[string]func(){}
	}
	e.extra[name] = write
}

// goType is the type of a component's parameter.
func (e *emitter) componentType(c *component) string {
	if c.nullable {
		return "*" + e.typ(c.element.goType)
	}
	return e.typ(c.element.goType)
}

// componentEncoder is the function value that appends a component to a key.
func (e *emitter) componentEncoder(c *component) string {
	encoder := e.keyEncoder(c.element)
	if c.nullable {
		return fmt.Sprintf("%s.Nullable(%s)", e.pkg(indexPath), encoder)
	}
	return encoder
}

// componentKey is the call that appends a parameter to a key.
func (e *emitter) componentKey(c *component, buffer, value string) string {
	if c.nullable {
		return fmt.Sprintf("%s.AppendNullable(%s, %s, %s)", e.pkg(indexPath), buffer, value, e.keyEncoder(c.element))
	}
	return e.appendKey(c.element, buffer, value)
}

// componentParameters names the parameters of an index method.
func (e *emitter) componentParameters(components []*component) []string {
	var goNames []string
	for _, c := range components {
		goNames = append(goNames, c.goName())
	}
	return parameterNames(e.model, goNames, "s", "k", "ctx")
}

// indexMethod writes one query method.
func (e *emitter) indexMethod(r *record, d *indexDef, i int, m indexMethod) {
	names := e.componentParameters(m.equal)
	var parameters []string
	for n, c := range m.equal {
		parameters = append(parameters, names[n]+" "+e.componentType(c))
	}
	persistable, persistimpl := e.pkg(persistablePath), e.pkg(persistimplPath)
	e.methodComment(r, m)
	receiver := fmt.Sprintf("func (s *%s) %s", r.storeType(), m.name)
	switch m.kind {
	case methodUnique:
		parameters = append([]string{"ctx " + e.pkg("context") + ".Context"}, parameters...)
		e.p("%s(%s) (*%s, error) {", receiver, strings.Join(parameters, ", "), r.goName)
		e.p("return %s.Unique(ctx, &s.Store, %d, %s)\n}\n", persistimpl, i, e.key(m.equal, names))
	case methodEqual:
		e.p("%s(%s) *%s.Query[*%s] {", receiver, strings.Join(parameters, ", "), persistable, r.goName)
		e.p("return %s.Query(&s.Store, %d, %s)\n}\n", persistimpl, i, e.key(m.equal, names))
	default:
		e.p("%s(%s) *%s.RangeQuery[*%s, %s] {", receiver, strings.Join(parameters, ", "), persistable, r.goName, e.componentType(m.next))
		e.p("return %s.Range(&s.Store, %d, %s, %s)\n}\n", persistimpl, i, e.key(m.equal, names), e.componentEncoder(m.next))
	}
}

// key is the expression of the packed values of parameters. For more than one
// it writes statements that append them to a variable.
func (e *emitter) key(components []*component, names []string) string {
	switch len(components) {
	case 0:
		return "nil"
	case 1:
		return e.componentKey(components[0], "nil", names[0])
	}
	e.p("k := %s", e.componentKey(components[0], "nil", names[0]))
	for n, c := range components[1:] {
		e.p("k = %s", e.componentKey(c, "k", names[n+1]))
	}
	return "k"
}

// methodComment writes the doc comment of a query method.
func (e *emitter) methodComment(r *record, m indexMethod) {
	what := values(m.equal)
	switch m.kind {
	case methodUnique:
		e.p("// %s returns the %s with %s, or %s.ErrNotFound.", m.name, r.goName, what, e.pkg(persistablePath))
	case methodEqual:
		e.p("// %s returns the records with %s, in the order of their IDs.", m.name, what)
	case methodRange:
		e.p("// %s returns the records with %s, in the order of %s; a range of it can be chosen.", m.name, what, order(m.next))
	case methodOrdered:
		e.p("// %s returns the records in the order of %s; a range of it can be chosen.", m.name, order(m.next))
	}
}

// values names the parameters of a method in its doc comment: "that A, B and C",
// or, with a slice, "that A and that element of B".
func values(components []*component) string {
	again := ""
	if slices.ContainsFunc(components, func(c *component) bool { return c.slice }) {
		again = "that "
	}
	var b strings.Builder
	for i, c := range components {
		switch {
		case i == 0:
			b.WriteString("that ")
		case i == len(components)-1:
			b.WriteString(" and " + again)
		default:
			b.WriteString(", " + again)
		}
		if c.slice {
			b.WriteString("element of ")
		}
		b.WriteString(c.goName())
	}
	return b.String()
}

// order names what the records of a method are sorted by.
func order(c *component) string {
	if c.slice {
		return "the elements of " + c.goName() + ", a record once for each"
	}
	return c.goName()
}

// fieldsVar writes OrderFields.
func (e *emitter) fieldsVar(r *record) {
	var list []*component
	seen := map[string]bool{}
	for _, d := range r.indexes {
		for _, c := range d.components {
			if !seen[c.goName()] {
				seen[c.goName()] = true
				list = append(list, c)
			}
		}
	}
	persistable := e.pkg(persistablePath)
	persistimpl := e.pkg(persistimplPath)
	e.p("// %s are the indexed fields of %s, for conditions of Find and FindOne.", r.fieldsVar(), r.goName)
	e.p("var %s = struct {", r.fieldsVar())
	for _, c := range list {
		e.p("%s %s.Field[*%s, %s]", c.goName(), persistable, r.goName, e.componentType(c))
	}
	e.p("}{")
	for _, c := range list {
		e.p("%s: %s.Field[*%s](%q, %s),", c.goName(), persistimpl, r.goName, c.name(), e.componentEncoder(c))
	}
	e.p("}\n")
}
