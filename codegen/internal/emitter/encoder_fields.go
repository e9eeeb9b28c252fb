// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// writeSingleMessage writes a nested message that is absent while it is empty.
func (w *encoder) writeSingleMessage(f *model.Field, k *model.Kind, selector string) {
	w.usesAt, w.usesErr = true, true
	tag := tagBytes(f.Number, 2)
	w.printf("b, at = %s.BeginMessage(append(b, %s))", w.importPackage(model.WirePath), tag)
	w.writeMessageCall(k.Message, variable(selector))
	w.printf("if len(b) == at {\nb = b[:at-%d] // empty: absent\n} else {\nb = %s.EndMessage(b, at)\n}",
		strings.Count(tag, ",")+2, w.importPackage(model.WirePath))
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
		w.printf("if !%s.ValidString(string(data)) {\n%s\n}", w.importPackage(model.WirePath), fieldError("MarshalText returned what is not valid UTF-8", ""))
	}
	if optional {
		w.printf("if len(data) > 0 {")
	}
	w.printf("b = %s.Append%s(append(b, %s), data)", w.importPackage(model.WirePath), function, tag)
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
		w.printf("b, at = %s.BeginMessage(append(b, %s))", w.importPackage(model.WirePath), tag)
		w.printf("for _, element := range %s {\nb = %s\n}", selector, w.appendCall(k.Elem, "b", variable("element")))
		w.printf("b = %s.EndMessage(b, at)\n}", w.importPackage(model.WirePath))
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
	w.printf("b, %s = %s.BeginMessage(append(b, %s))", start, w.importPackage(model.WirePath), tagBytes(f.Number, 2))
	w.writeValue(f, k.Key, tagBytes(1, k.Key.WireType()), variable("key"))
	w.writeValue(f, k.Elem, tagBytes(2, k.Elem.WireType()), variable("value"))
	w.printf("b = %s.EndMessage(b, %s)\n}", w.importPackage(model.WirePath), start)
}
