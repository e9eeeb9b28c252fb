// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"
)

// maxDepth bounds how deep a struct that contains itself may be nested, so
// that neither a cycle of pointers nor hostile bytes exhaust the stack.
const maxDepth = 1000

// value is a Go expression of a value to be encoded or decoded.
type value struct {
	expr    string // the value
	address string // its address
	dot     string // the value before a selector or an index
}

// variable is the value of a variable or a field of one.
func variable(name string) value { return value{name, "&" + name, name} }

// pointee is what a pointer points to.
func pointee(pointer string) value { return value{"*" + pointer, pointer, pointer} }

// tagBytes spells a field's tag as byte literals.
func tagBytes(number int32, wireType int) string {
	var list []string
	tag := uint64(number)<<3 | uint64(wireType)
	for ; tag >= 0x80; tag >>= 7 {
		list = append(list, fmt.Sprintf("%#02x", byte(tag)|0x80))
	}
	return strings.Join(append(list, fmt.Sprintf("0x%02x", tag)), ", ")
}

// encoding is an append function being written.
type encoding struct {
	*emitter
	m       *message
	lines   []string
	usesAt  bool // the variables at and err must be declared
	usesErr bool
}

func (w *encoding) p(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// encoder writes the append function of a message.
func (e *emitter) encoder(m *message) {
	w := &encoding{emitter: e, m: m}
	for _, f := range m.byNumber() {
		w.field(f)
	}
	depth := ""
	if m.recursive {
		depth = ", depth int"
	}
	e.p("// append%s appends v to b in the protobuf wire format.", m.function)
	e.p("func append%s(b []byte, v *%s%s) ([]byte, error) {", m.function, e.typ(m.named), depth)
	if m.recursive {
		e.p("if depth == 0 {\nreturn nil, &%s.FieldError{Type: %q, Field: %q, Reason: \"it is nested more than %d deep; is there a cycle of pointers?\"}\n}",
			e.pkg(persistablePath), m.goName, recursiveField(m), maxDepth)
	}
	if w.usesAt {
		e.p("var at int")
	}
	if w.usesErr {
		e.p("var err error")
	}
	e.printer.p("%s", strings.Join(w.lines, "\n"))
	e.p("return b, nil\n}\n")
}

// recursiveField is the first field through which a message contains itself.
func recursiveField(m *message) string {
	for _, f := range m.fields {
		if inner := f.typ.innerMessage(); inner == m || inner != nil && reaches(inner, m, map[*message]bool{}) {
			return f.goName
		}
	}
	return ""
}

// field writes the encoding of one field.
func (w *encoding) field(f *field) {
	selector := f.selector("v")
	switch k := f.typ; k.form {
	case formPointer:
		w.p("if %s != nil {", selector)
		w.one(f, k.elem, tagBytes(f.number, k.elem.wireType()), pointee(selector))
		w.p("}")
	case formSlice:
		w.slice(f, k, selector)
	case formMap:
		w.entries(f, k, selector)
	case formMessage:
		w.singleMessage(f, k, selector)
	case formBinary, formText:
		w.marshaler(f, k, tagBytes(f.number, 2), variable(selector), true)
	default:
		w.p("if %s {", w.notZero(k, selector))
		w.one(f, k, tagBytes(f.number, k.wireType()), variable(selector))
		w.p("}")
	}
}

// notZero is the condition under which a value is written.
func (w *encoding) notZero(k *kind, x string) string {
	switch k.form {
	case formBool:
		return x
	case formFloat32:
		return fmt.Sprintf("%s.Float32bits(%s) != 0", w.pkg("math"), w.convert("float32", k, x))
	case formFloat64:
		return fmt.Sprintf("%s.Float64bits(%s) != 0", w.pkg("math"), w.convert("float64", k, x))
	case formString:
		return x + ` != ""`
	case formBytes:
		return fmt.Sprintf("len(%s) > 0", x)
	case formArray, formUUID, formULID:
		return fmt.Sprintf("%s != (%s{})", x, w.typ(k.goType))
	case formTime:
		return fmt.Sprintf("!%s.IsZero()", x)
	}
	return x + " != 0"
}

// convert converts x unless its type is the basic one already.
func (w *encoding) convert(basic string, k *kind, x string) string {
	if w.typ(k.goType) == basic {
		return x
	}
	return fmt.Sprintf("%s(%s)", basic, x)
}

// one writes a tag and a value.
func (w *encoding) one(f *field, k *kind, tag string, v value) {
	switch k.form {
	case formMessage:
		w.message(k.message, tag, v)
	case formBinary, formText:
		w.marshaler(f, k, tag, v, false)
	default:
		w.checkString(f, k, v)
		w.p("b = %s", w.call(k, fmt.Sprintf("append(b, %s)", tag), v))
	}
}

// call is the call that appends a plain value to a buffer.
func (w *encoding) call(k *kind, buffer string, v value) string {
	function, x := "", v.expr
	switch k.form {
	case formBool:
		function, x = "Bool", w.convert("bool", k, x)
	case formInt:
		function, x = "Zigzag", w.convert("int64", k, x)
	case formUint:
		function, x = "Varint", w.convert("uint64", k, x)
	case formID:
		function, x = "Fixed64", fmt.Sprintf("uint64(%s)", x)
	case formFloat32:
		function, x = "Float32", w.convert("float32", k, x)
	case formFloat64:
		function, x = "Float64", w.convert("float64", k, x)
	case formString:
		function, x = "String", w.convert("string", k, x)
	case formBytes:
		function = "Bytes"
	case formArray, formUUID, formULID:
		function, x = "Bytes", v.dot+"[:]"
	case formTime:
		function = "Timestamp"
	case formDuration:
		function = "Duration"
	}
	return fmt.Sprintf("%s.Append%s(%s, %s)", w.pkg(wirePath), function, buffer, x)
}

// checkString refuses strings that protobuf does not allow.
func (w *encoding) checkString(f *field, k *kind, v value) {
	if k.form == formString {
		w.p("if !%s.ValidString(%s) {", w.pkg(wirePath), w.convert("string", k, v.expr))
		w.p("return nil, &%s.FieldError{Type: %q, Field: %q, Reason: \"it is not valid UTF-8; a field of bytes is a []byte\"}",
			w.pkg(persistablePath), w.m.goName, f.goName)
		w.p("}")
	}
}

// message writes a nested message.
func (w *encoding) message(m *message, tag string, v value) {
	w.usesAt, w.usesErr = true, true
	w.p("b, at = %s.BeginMessage(append(b, %s))", w.pkg(wirePath), tag)
	w.body(m, v)
	w.p("b = %s.EndMessage(b, at)", w.pkg(wirePath))
}

// body writes the call of a nested message's append function.
func (w *encoding) body(m *message, v value) {
	w.p("if b, err = append%s(b, %s%s); err != nil {\nreturn nil, err\n}", m.function, v.address, w.depth(m))
}

// depth is the last argument of a call of a nested message's function.
func (w *encoding) depth(m *message) string { return depthArgument(w.m, m) }

// depthArgument is the depth that is left for inner, called from outer.
func depthArgument(outer, inner *message) string {
	switch {
	case !inner.recursive:
		return ""
	case outer.recursive:
		return ", depth-1"
	}
	return fmt.Sprintf(", %d", maxDepth)
}

// singleMessage writes a nested message that is absent while it is empty.
func (w *encoding) singleMessage(f *field, k *kind, selector string) {
	w.usesAt, w.usesErr = true, true
	tag := tagBytes(f.number, 2)
	w.p("b, at = %s.BeginMessage(append(b, %s))", w.pkg(wirePath), tag)
	w.body(k.message, variable(selector))
	w.p("if len(b) == at {\nb = b[:at-%d] // empty: absent\n} else {\nb = %s.EndMessage(b, at)\n}",
		strings.Count(tag, ",")+2, w.pkg(wirePath))
}

// marshaler writes what a value marshals to, unless that is empty and may be
// left out.
func (w *encoding) marshaler(f *field, k *kind, tag string, v value, optional bool) {
	method, function := "MarshalBinary", "Bytes"
	if k.form == formText {
		method = "MarshalText"
	}
	fieldError := func(reason, cause string) string {
		return fmt.Sprintf("return nil, &%s.FieldError{Type: %q, Field: %q, Reason: %q%s}", w.pkg(persistablePath), w.m.goName, f.goName, reason, cause)
	}
	w.p("{\ndata, err := %s.%s()", v.dot, method)
	w.p("if err != nil {\n%s\n}", fieldError(method+" failed", ", Err: err"))
	if k.form == formText {
		w.p("if !%s.ValidString(string(data)) {\n%s\n}", w.pkg(wirePath), fieldError("MarshalText returned what is not valid UTF-8", ""))
	}
	if optional {
		w.p("if len(data) > 0 {")
	}
	w.p("b = %s.Append%s(append(b, %s), data)", w.pkg(wirePath), function, tag)
	if optional {
		w.p("}")
	}
	w.p("}")
}

// slice writes a repeated field, packed where protobuf packs.
func (w *encoding) slice(f *field, k *kind, selector string) {
	tag := tagBytes(f.number, 2)
	if k.elem.scalar() {
		w.usesAt = true
		w.p("if len(%s) > 0 {", selector)
		w.p("b, at = %s.BeginMessage(append(b, %s))", w.pkg(wirePath), tag)
		w.p("for _, element := range %s {\nb = %s\n}", selector, w.call(k.elem, "b", variable("element")))
		w.p("b = %s.EndMessage(b, at)\n}", w.pkg(wirePath))
		return
	}
	w.p("for i := range %s {", selector)
	w.one(f, k.elem, tag, variable(selector+"[i]"))
	w.p("}")
}

// entries writes a map, in the order of its keys.
func (w *encoding) entries(f *field, k *kind, selector string) {
	w.usesAt = true
	if k.key.form == formBool {
		w.p("for _, key := range []%s{false, true} {", w.typ(k.key.goType))
		w.p("value, ok := %s[key]\nif !ok {\ncontinue\n}", selector)
	} else {
		w.p("for _, key := range %s.Sorted(%s.Keys(%s)) {", w.pkg("slices"), w.pkg("maps"), selector)
		w.p("value := %s[key]", selector)
	}
	inner := k.elem.form == formMessage
	start := "at"
	if inner {
		start = "entry"
		w.p("var entry int")
	}
	w.p("b, %s = %s.BeginMessage(append(b, %s))", start, w.pkg(wirePath), tagBytes(f.number, 2))
	w.one(f, k.key, tagBytes(1, k.key.wireType()), variable("key"))
	w.one(f, k.elem, tagBytes(2, k.elem.wireType()), variable("value"))
	w.p("b = %s.EndMessage(b, %s)\n}", w.pkg(wirePath), start)
}
