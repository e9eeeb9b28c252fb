// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// maxDepth bounds how deep a struct that contains itself may be nested, so
// that neither a cycle of pointers nor hostile bytes exhaust the stack.
const maxDepth = 1000

// tagBytes spells a field's tag as byte literals.
func tagBytes(number int32, wireType int) string {
	var list []string
	tag := uint64(number)<<3 | uint64(wireType)
	for ; tag >= 0x80; tag >>= 7 {
		list = append(list, fmt.Sprintf("%#02x", byte(tag)|0x80))
	}
	return strings.Join(append(list, fmt.Sprintf("0x%02x", tag)), ", ")
}

// writeEncoder writes the append function of a message.
func (e *emitter) writeEncoder(m *model.Message) {
	w := &encoder{emitter: e, m: m}
	for _, f := range m.FieldsByNumber() {
		w.writeField(f)
	}
	depth := ""
	if m.Recursive {
		depth = ", depth int"
	}
	e.printf("// append%s appends v to b in the protobuf wire format.", m.Function)
	e.printf("func append%s(b []byte, v *%s%s) ([]byte, error) {", m.Function, e.typeName(m.Named), depth)
	if m.Recursive {
		e.printf("if depth == 0 {\nreturn nil, &%s.FieldError{Type: %q, Field: %q, Reason: \"it is nested more than %d deep; is there a cycle of pointers?\"}\n}",
			e.importPackage(model.PersistablePath), m.GoName, recursiveField(m), maxDepth)
	}
	if w.usesAt {
		e.printf("var at int")
	}
	if w.usesErr {
		e.printf("var err error")
	}
	e.printer.printf("%s", strings.Join(w.lines, "\n"))
	e.printf("return b, nil\n}\n")
}

// recursiveField is the first field through which a message contains itself.
func recursiveField(m *model.Message) string {
	for _, f := range m.Fields {
		if inner := f.Kind.InnerMessage(); inner == m || inner != nil && model.Reaches(inner, m, map[*model.Message]bool{}) {
			return f.GoName
		}
	}
	return ""
}

// depthArgument is the depth that is left for inner, called from outer.
func depthArgument(outer, inner *model.Message) string {
	switch {
	case !inner.Recursive:
		return ""
	case outer.Recursive:
		return ", depth-1"
	}
	return fmt.Sprintf(", %d", maxDepth)
}
