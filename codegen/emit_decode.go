// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"cmp"
	"fmt"
	"slices"
)

// byNumber returns the fields in the order of their numbers.
func (m *message) byNumber() []*field {
	return slices.SortedFunc(slices.Values(m.fields), func(a, b *field) int { return cmp.Compare(a.number, b.number) })
}

// decoder writes the decode function of a message.
func (e *emitter) decoder(m *message) {
	depth := ""
	if m.recursive {
		depth = ", depth int"
	}
	e.p("// decode%s reads b, in the protobuf wire format, into v.", m.function)
	e.p("func decode%s(b []byte, v *%s%s) error {", m.function, e.typ(m.named), depth)
	if m.recursive {
		e.p("if depth == 0 {\nreturn &%s.Error{Reason: \"messages are nested more than %d deep\"}\n}", e.pkg(wirePath), maxDepth)
	}
	e.p("r := %s.NewReader(b)", e.pkg(wirePath))
	e.p("for r.Next() {")
	if len(m.fields) == 0 {
		e.p("r.Skip()")
	} else {
		e.p("switch r.Field() {")
		for _, f := range m.byNumber() {
			e.p("case %d:", f.number)
			e.decodeField(m, f)
		}
		e.p("default:\nr.Skip()\n}")
	}
	e.p("}\nreturn r.Err()\n}\n")
}

// decodeField writes the body of one case.
func (e *emitter) decodeField(m *message, f *field) {
	selector := f.selector("v")
	switch k := f.typ; k.form {
	case formPointer:
		e.decodePointer(m, k.elem, selector)
	case formSlice:
		e.decodeElement(m, k.elem, selector)
	case formMap:
		e.decodeEntry(m, k, selector)
	default:
		e.decodeInto(m, k, "r", variable(selector))
	}
}

// decodeInto writes the reading of one value into an addressable place.
func (e *emitter) decodeInto(m *message, k *kind, reader string, v value) {
	switch k.form {
	case formArray, formUUID, formULID:
		e.p("%s.Array(%s[:])", reader, v.dot)
	case formMessage:
		e.p("%s.Check(decode%s(%s.Message(), %s%s))", reader, k.message.function, reader, v.address, depthArgument(m, k.message))
	case formBinary:
		e.p("if data := %s.Message(); %s.Err() == nil {\n%s.Check(%s.UnmarshalBinary(data))\n}", reader, reader, reader, v.dot)
	case formText:
		e.p("if data := %s.Message(); %s.Err() == nil {\n%s.Check(%s.UnmarshalText(data))\n}", reader, reader, reader, v.dot)
	default:
		e.p("%s = %s", v.expr, e.read(k, reader))
	}
}

// isInPlace reports whether values of the kind are decoded into a place rather
// than returned.
func isInPlace(k *kind) bool {
	switch k.form {
	case formArray, formUUID, formULID, formMessage, formBinary, formText:
		return true
	}
	return false
}

// read is the expression that reads one plain value.
func (e *emitter) read(k *kind, reader string) string {
	method, result := "", ""
	switch k.form {
	case formBool:
		method, result = "Bool()", "bool"
	case formInt:
		method, result = e.sized("Int", "Zigzag", k.bits), "int64"
	case formUint:
		method, result = e.sized("Uint", "Varint", k.bits), "uint64"
	case formID:
		method, result = "Fixed64()", "uint64"
	case formFloat32:
		method, result = "Float32()", "float32"
	case formFloat64:
		method, result = "Float64()", "float64"
	case formString:
		method, result = "String()", "string"
	case formBytes:
		return reader + ".Bytes()"
	case formTime:
		return reader + ".Timestamp()"
	case formDuration:
		return reader + ".Duration()"
	}
	if t := e.typ(k.goType); t != result {
		return fmt.Sprintf("%s(%s.%s)", t, reader, method)
	}
	return reader + "." + method
}

// sized is the call that reads an integer of the given bits, 0 for the
// platform's.
func (e *emitter) sized(checked, whole string, bits int) string {
	switch bits {
	case 64:
		return whole + "()"
	case 0:
		return fmt.Sprintf("%s(%s.UintSize)", checked, e.pkg("math/bits"))
	}
	return fmt.Sprintf("%s(%d)", checked, bits)
}

// decodePointer writes the reading of an optional value.
func (e *emitter) decodePointer(m *message, k *kind, selector string) {
	if isInPlace(k) {
		e.p("if %s == nil {\n%s = new(%s)\n}", selector, selector, e.typ(k.goType))
		e.decodeInto(m, k, "r", pointee(selector))
		return
	}
	e.p("value := %s\n%s = &value", e.read(k, "r"), selector)
}

// decodeElement writes the reading of a repeated field's element, or of a list
// of packed ones.
func (e *emitter) decodeElement(m *message, k *kind, selector string) {
	switch {
	case k.scalar():
		names := map[int]string{0: "VarintType", 1: "Fixed64Type", 5: "Fixed32Type"}
		e.p("for r.Repeated(%s.%s) {\n%s = append(%s, %s)\n}", e.pkg(wirePath), names[k.wireType()], selector, selector, e.read(k, "r"))
	case isInPlace(k):
		e.p("var element %s", e.typ(k.goType))
		e.decodeInto(m, k, "r", variable("element"))
		e.p("%s = append(%s, element)", selector, selector)
	default:
		e.p("%s = append(%s, %s)", selector, selector, e.read(k, "r"))
	}
}

// decodeEntry writes the reading of one entry of a map.
func (e *emitter) decodeEntry(m *message, k *kind, selector string) {
	e.p("var (\nkey %s\nvalue %s\n)", e.typ(k.key.goType), e.typ(k.elem.goType))
	e.p("m := %s.NewReader(r.Message())", e.pkg(wirePath))
	e.p("for m.Next() {\nswitch m.Field() {\ncase 1:")
	e.decodeInto(m, k.key, "m", variable("key"))
	e.p("case 2:")
	e.decodeInto(m, k.elem, "m", variable("value"))
	e.p("default:\nm.Skip()\n}\n}\nr.Check(m.Err())")
	e.p("if %s == nil {\n%s = make(%s)\n}\n%s[key] = value", selector, selector, e.typ(k.goType), selector)
}
