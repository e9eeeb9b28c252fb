// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeDecoder writes the decode function of a message.
func (e *emitter) writeDecoder(m *model.Message) {
	depth := ""
	if m.Recursive {
		depth = ", depth int"
	}
	e.printf("// decode%s reads b, in the protobuf wire format, into v, whose strings it makes of s.", m.Function)
	e.printf("func decode%s(b []byte, v *%s, s *%s.Strings%s) error {", m.Function, e.typeName(m.Named), e.importPackage(model.WirePath), depth)
	if m.Recursive {
		e.printf("if depth == 0 {\nreturn &%s.Error{Reason: \"messages are nested more than %d deep\"}\n}", e.importPackage(model.WirePath), maxDepth)
	}
	e.writeDefaults(m)
	e.printf("r := s.NewReader(b)")
	e.printf("for r.Next() {")
	if len(m.Fields) == 0 {
		e.printf("r.Skip()")
	} else {
		e.printf("switch r.Field() {")
		for _, f := range m.FieldsByNumber() {
			e.printf("case %d:", f.Number)
			e.writeFieldDecoder(m, f)
		}
		e.printf("default:\nr.Skip()\n}")
	}
	e.printf("}\nreturn r.Err()\n}\n")
}

// writeDefaults sets the fields that a record may lack to their defaults.
func (e *emitter) writeDefaults(m *model.Message) {
	for _, f := range m.FieldsByNumber() {
		if f.Default != "" {
			e.printf("%s = %s", f.Selector("v"), f.Default)
		}
	}
}

// writeFieldDecoder writes the body of one case.
func (e *emitter) writeFieldDecoder(m *model.Message, f *model.Field) {
	selector := f.Selector("v")
	switch k := f.Kind; k.Form {
	case model.FormPointer:
		e.decodePointer(m, k.Elem, selector)
	case model.FormSlice:
		e.decodeElement(m, k.Elem, selector)
	case model.FormMap:
		e.decodeEntry(m, k, selector)
	default:
		e.decodeInto(m, k, "r", variable(selector))
	}
}

// decodeInto writes the reading of one value into an addressable place.
func (e *emitter) decodeInto(m *model.Message, k *model.Kind, reader string, v value) {
	switch k.Form {
	case model.FormArray, model.FormUUID, model.FormULID:
		e.printf("%s.Array(%s[:])", reader, v.dot)
	case model.FormMessage:
		e.printf("%s.Check(decode%s(%s.Message(), %s, s%s))", reader, k.Message.Function, reader, v.address, depthArgument(m, k.Message))
	case model.FormBinary:
		e.printf("if data := %s.Message(); %s.Err() == nil {\n%s.Check(%s.UnmarshalBinary(data))\n}", reader, reader, reader, v.dot)
	case model.FormText:
		e.printf("if data := %s.Message(); %s.Err() == nil {\n%s.Check(%s.UnmarshalText(data))\n}", reader, reader, reader, v.dot)
	default:
		e.printf("%s = %s", v.expr, e.readCall(k, reader))
	}
}

// isInPlace reports whether values of the kind are decoded into a place rather
// than returned.
func isInPlace(k *model.Kind) bool {
	switch k.Form {
	case model.FormArray, model.FormUUID, model.FormULID, model.FormMessage, model.FormBinary, model.FormText:
		return true
	}
	return false
}

// readCall is the expression that reads one plain value.
func (e *emitter) readCall(k *model.Kind, reader string) string {
	method, result := "", ""
	switch k.Form {
	case model.FormBool:
		method, result = "Bool()", "bool"
	case model.FormInt:
		method, result = e.sizedCall("Int", "Zigzag", k.Bits), "int64"
	case model.FormUint:
		method, result = e.sizedCall("Uint", "Varint", k.Bits), "uint64"
	case model.FormID:
		method, result = "Fixed64()", "uint64"
	case model.FormFloat32:
		method, result = "Float32()", "float32"
	case model.FormFloat64:
		method, result = "Float64()", "float64"
	case model.FormString:
		method, result = "String()", "string"
	case model.FormBytes:
		return reader + ".Bytes()"
	case model.FormTime:
		return reader + ".Timestamp()"
	case model.FormDuration:
		return reader + ".Duration()"
	}
	if t := e.typeName(k.GoType); t != result {
		return fmt.Sprintf("%s(%s.%s)", t, reader, method)
	}
	return reader + "." + method
}

// sizedCall is the call that reads an integer of the given bits, 0 for the
// platform's.
func (e *emitter) sizedCall(checked, whole string, bits int) string {
	switch bits {
	case 64:
		return whole + "()"
	case 0:
		return fmt.Sprintf("%s(%s.UintSize)", checked, e.importPackage("math/bits"))
	}
	return fmt.Sprintf("%s(%d)", checked, bits)
}

// decodePointer writes the reading of an optional value.
func (e *emitter) decodePointer(m *model.Message, k *model.Kind, selector string) {
	if isInPlace(k) {
		e.printf("if %s == nil {\n%s = new(%s)\n}", selector, selector, e.typeName(k.GoType))
		e.decodeInto(m, k, "r", pointee(selector))
		return
	}
	e.printf("value := %s\n%s = &value", e.readCall(k, "r"), selector)
}

// decodeElement writes the reading of a repeated field's element, or of a list
// of packed ones.
func (e *emitter) decodeElement(m *model.Message, k *model.Kind, selector string) {
	switch {
	case k.IsScalar():
		names := map[int]string{0: "VarintType", 1: "Fixed64Type", 5: "Fixed32Type"}
		e.printf("for r.Repeated(%s.%s) {\n%s = append(%s, %s)\n}", e.importPackage(model.WirePath), names[k.WireType()], selector, selector, e.readCall(k, "r"))
	case model.HoldsLock(k.GoType):
		e.printf("%s = append(%s, %s{})", selector, selector, e.typeName(k.GoType))
		e.decodeInto(m, k, "r", variable(fmt.Sprintf("%s[len(%s)-1]", selector, selector)))
	case isInPlace(k):
		e.printf("var element %s", e.typeName(k.GoType))
		e.decodeInto(m, k, "r", variable("element"))
		e.printf("%s = append(%s, element)", selector, selector)
	default:
		e.printf("%s = append(%s, %s)", selector, selector, e.readCall(k, "r"))
	}
}

// decodeEntry writes the reading of one entry of a map.
func (e *emitter) decodeEntry(m *model.Message, k *model.Kind, selector string) {
	e.printf("var (\nkey %s\nvalue %s\n)", e.typeName(k.Key.GoType), e.typeName(k.Elem.GoType))
	e.printf("m := s.NewReader(r.Message())")
	e.printf("for m.Next() {\nswitch m.Field() {\ncase 1:")
	e.decodeInto(m, k.Key, "m", variable("key"))
	e.printf("case 2:")
	e.decodeInto(m, k.Elem, "m", variable("value"))
	e.printf("default:\nm.Skip()\n}\n}\nr.Check(m.Err())")
	e.printf("if %s == nil {\n%s = make(%s)\n}\n%s[key] = value", selector, selector, e.typeName(k.GoType), selector)
}
