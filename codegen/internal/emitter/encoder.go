// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// encoder is an append function being written.
type encoder struct {
	*emitter
	m       *model.Message
	lines   []string
	usesAt  bool // the variables at and err must be declared
	usesErr bool
	sound   bool // the record was encoded before: what was checked then is not checked again
}

func (w *encoder) printf(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// writeField writes the encoding of one field.
func (w *encoder) writeField(f *model.Field) {
	selector := f.Selector("v")
	if f.Default != "" { // an absent field has the default, so a zero is written, too
		w.writeValue(f, f.Kind, tagBytes(f.Number, f.Kind.WireType()), variable(selector))
		return
	}
	switch k := f.Kind; k.Form {
	case model.FormPointer:
		w.printf("if %s != nil {", selector)
		w.writeValue(f, k.Elem, tagBytes(f.Number, k.Elem.WireType()), pointee(selector))
		w.printf("}")
	case model.FormSlice:
		w.writeSlice(f, k, selector)
	case model.FormMap:
		w.writeMapEntries(f, k, selector)
	case model.FormMessage:
		w.writeSingleMessage(f, k, selector)
	case model.FormBinary, model.FormBlob, model.FormText:
		w.writeMarshaled(f, k, tagBytes(f.Number, 2), variable(selector), true)
	default:
		w.printf("if %s {", w.notZero(k, selector))
		w.writeValue(f, k, tagBytes(f.Number, k.WireType()), variable(selector))
		w.printf("}")
	}
}

// notZero is the condition under which a value is written.
func (w *encoder) notZero(k *model.Kind, x string) string {
	switch k.Form {
	case model.FormBool:
		return x
	case model.FormFloat32:
		return fmt.Sprintf("%s.Float32bits(%s) != 0", w.importPackage("math"), w.converted("float32", k, x))
	case model.FormFloat64:
		return fmt.Sprintf("%s.Float64bits(%s) != 0", w.importPackage("math"), w.converted("float64", k, x))
	case model.FormString:
		return x + ` != ""`
	case model.FormBytes:
		return fmt.Sprintf("len(%s) > 0", x)
	case model.FormArray, model.FormUUID, model.FormULID:
		return fmt.Sprintf("%s != (%s{})", x, w.typeName(k.GoType))
	case model.FormTime:
		return fmt.Sprintf("!%s.IsZero()", x)
	}
	return x + " != 0"
}

// writeValue writes a tag and a value.
func (w *encoder) writeValue(f *model.Field, k *model.Kind, tag string, v value) {
	switch k.Form {
	case model.FormMessage:
		w.writeMessage(k.Message, tag, v)
	case model.FormBinary, model.FormBlob, model.FormText:
		w.writeMarshaled(f, k, tag, v, false)
	default:
		w.writeStringCheck(f, k, v)
		w.printf("b = %s", w.appendCall(k, fmt.Sprintf("append(b, %s)", tag), v))
	}
}

// appendCall is the call that appends a plain value to a buffer.
func (w *encoder) appendCall(k *model.Kind, buffer string, v value) string {
	function, x := "", v.expr
	switch k.Form {
	case model.FormBool:
		function, x = "Bool", w.converted("bool", k, x)
	case model.FormInt:
		function, x = "Zigzag", w.converted("int64", k, x)
	case model.FormUint:
		function, x = "Varint", w.converted("uint64", k, x)
	case model.FormID:
		function, x = "Fixed64", fmt.Sprintf("uint64(%s)", x)
	case model.FormFloat32:
		function, x = "Float32", w.converted("float32", k, x)
	case model.FormFloat64:
		function, x = "Float64", w.converted("float64", k, x)
	case model.FormString:
		function, x = "String", w.converted("string", k, x)
	case model.FormBytes:
		function = "Bytes"
	case model.FormArray, model.FormUUID, model.FormULID:
		function, x = "Bytes", v.dot+"[:]"
	case model.FormTime:
		function = "Timestamp"
	case model.FormDuration:
		function = "Duration"
	default:
		panic(fmt.Sprintf("codegen: no function writes the form %d", k.Form))
	}
	return fmt.Sprintf("%s.Encode%s(%s, %s)", w.importPackage(model.PersistimplPath), function, buffer, x)
}

// writeStringCheck refuses strings that protobuf does not allow.
func (w *encoder) writeStringCheck(f *model.Field, k *model.Kind, v value) {
	if k.Form == model.FormString && !w.sound {
		w.printf("if !%s.ValidString(%s) {", w.importPackage(model.PersistimplPath), w.converted("string", k, v.expr))
		w.printf("return nil, &%s.FieldError{Type: %q, Field: %q, Reason: \"it is not valid UTF-8; a field of bytes is a []byte\"}",
			w.importPackage(model.PersistablePath), w.m.GoName, f.GoName)
		w.printf("}")
	}
}

// writeMessage writes a nested message.
func (w *encoder) writeMessage(m *model.Message, tag string, v value) {
	w.usesAt, w.usesErr = true, true
	w.printf("b, at = %s.BeginMessage(append(b, %s))", w.importPackage(model.PersistimplPath), tag)
	w.writeMessageCall(m, v)
	w.printf("b = %s.EndMessage(b, at)", w.importPackage(model.PersistimplPath))
}

// writeMessageCall writes the call of a nested message's append function.
func (w *encoder) writeMessageCall(m *model.Message, v value) {
	w.printf("if b, err = append%s(b, %s%s); err != nil {\nreturn nil, err\n}", m.Function, v.address, w.depthTo(m))
}

// depthTo is the last argument of a call of a nested message's function.
func (w *encoder) depthTo(m *model.Message) string { return depthArgument(w.m, m) }

// writeSingleMessage writes a nested message that is absent while it is empty.
func (w *encoder) writeSingleMessage(f *model.Field, k *model.Kind, selector string) {
	w.usesAt, w.usesErr = true, true
	tag := tagBytes(f.Number, 2)
	w.printf("b, at = %s.BeginMessage(append(b, %s))", w.importPackage(model.PersistimplPath), tag)
	w.writeMessageCall(k.Message, variable(selector))
	w.printf("if len(b) == at {\nb = b[:at-%d] // empty: absent\n} else {\nb = %s.EndMessage(b, at)\n}",
		strings.Count(tag, ",")+2, w.importPackage(model.PersistimplPath))
}

// writeMarshaled writes what a value marshals to, unless that is empty and may be
// left out.
func (w *encoder) writeMarshaled(f *model.Field, k *model.Kind, tag string, v value, optional bool) {
	method, function := "MarshalBinary", "Bytes"
	if k.Form == model.FormText {
		method = "MarshalText"
	}
	fieldError := func(reason, cause string) string {
		return fmt.Sprintf("return nil, &%s.FieldError{Type: %q, Field: %q, Reason: %q%s}", w.importPackage(model.PersistablePath), w.m.GoName, f.GoName, reason, cause)
	}
	w.printf("{\ndata, err := %s.%s()", v.dot, method)
	w.printf("if err != nil {\n%s\n}", fieldError(method+" failed", ", Err: err"))
	if k.Form == model.FormText {
		w.printf("if !%s.ValidString(string(data)) {\n%s\n}", w.importPackage(model.PersistimplPath), fieldError("MarshalText returned what is not valid UTF-8", ""))
	}
	if optional {
		w.printf("if len(data) > 0 {")
	}
	w.printf("b = %s.Encode%s(append(b, %s), data)", w.importPackage(model.PersistimplPath), function, tag)
	if optional {
		w.printf("}")
	}
	w.printf("}")
}

// writeSlice writes a repeated field, packed where protobuf packs.
func (w *encoder) writeSlice(f *model.Field, k *model.Kind, selector string) {
	tag := tagBytes(f.Number, 2)
	if k.Elem.IsScalar() {
		w.usesAt = true
		w.printf("if len(%s) > 0 {", selector)
		w.printf("b, at = %s.BeginMessage(append(b, %s))", w.importPackage(model.PersistimplPath), tag)
		w.printf("for _, element := range %s {\nb = %s\n}", selector, w.appendCall(k.Elem, "b", variable("element")))
		w.printf("b = %s.EndMessage(b, at)\n}", w.importPackage(model.PersistimplPath))
		return
	}
	w.printf("for i := range %s {", selector)
	w.writeValue(f, k.Elem, tag, variable(selector+"[i]"))
	w.printf("}")
}

// writeMapEntries writes a map, in the order of its keys.
func (w *encoder) writeMapEntries(f *model.Field, k *model.Kind, selector string) {
	w.usesAt = true
	if k.Key.Form == model.FormBool {
		w.printf("for _, key := range []%s{false, true} {", w.typeName(k.Key.GoType))
		w.printf("value, ok := %s[key]\nif !ok {\ncontinue\n}", selector)
	} else {
		w.printf("for _, key := range %s.Sorted(%s.Keys(%s)) {", w.importPackage("slices"), w.importPackage("maps"), selector)
		w.printf("value := %s[key]", selector)
	}
	inner := k.Elem.Form == model.FormMessage
	start := "at"
	if inner {
		start = "entry"
		w.printf("var entry int")
	}
	w.printf("b, %s = %s.BeginMessage(append(b, %s))", start, w.importPackage(model.PersistimplPath), tagBytes(f.Number, 2))
	w.writeValue(f, k.Key, tagBytes(1, k.Key.WireType()), variable("key"))
	w.writeValue(f, k.Elem, tagBytes(2, k.Elem.WireType()), variable("value"))
	w.printf("b = %s.EndMessage(b, %s)\n}", w.importPackage(model.PersistimplPath), start)
}
