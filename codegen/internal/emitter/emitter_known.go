// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// knownUse tells which variables with field numbers a message needs.
type knownUse struct{ value, pointer bool }

// knownUses finds them: a record's own, and those of messages nested once.
func knownUses(p *model.Package) map[*model.Message]knownUse {
	uses := map[*model.Message]knownUse{}
	var visit func(m *model.Message)
	visit = func(m *model.Message) {
		for _, f := range m.Fields {
			inner := f.Nested()
			if inner == nil {
				continue
			}
			use := uses[inner]
			seen := use.value || use.pointer
			if f.Kind.Form == model.FormPointer {
				use.pointer = true
			} else {
				use.value = true
			}
			uses[inner] = use
			if !seen {
				visit(inner)
			}
		}
	}
	for _, r := range p.Records {
		use := uses[r.Message]
		seen := use.value || use.pointer
		use.value = true
		uses[r.Message] = use
		if !seen {
			visit(r.Message)
		}
	}
	return uses
}

// writeKnown writes the variables with the field numbers of a message.
func (e *emitter) writeKnown(m *model.Message) {
	use := knownUses(e.model)[m]
	var names []string
	if use.value {
		names = append(names, m.KnownVar())
		e.writeKnownVariable(m, m.KnownVar(), "", "")
	}
	if use.pointer {
		names = append(names, m.KnownVar()+"Optional")
		e.writeKnownVariable(m, m.KnownVar()+"Optional", ", Optional: true", ", where it may be absent")
	}
	nested := e.knownMessages(m)
	if len(names) == 0 || nested == "" || !m.Recursive {
		return
	}
	e.printf("func init() { // not in the declaration, which would refer to itself")
	for _, name := range names {
		e.printf("%s.Messages = %s", name, nested)
	}
	e.printf("}\n")
}

// writeKnownVariable writes one of the variables.
func (e *emitter) writeKnownVariable(m *model.Message, name, optional, comment string) {
	var numbers []string
	for _, f := range m.FieldsByNumber() {
		numbers = append(numbers, fmt.Sprint(f.Number))
	}
	text := fmt.Sprintf("Numbers: []int32{%s}", strings.Join(numbers, ", "))
	if nested := e.knownMessages(m); nested != "" && !m.Recursive {
		text += ", Messages: " + nested
	}
	e.printf("// %s are the fields of %s that this code knows%s; others survive a Save.", name, m.GoName, comment)
	e.printf("var %s = %s.FieldSet{%s%s}\n", name, e.importPackage(model.WirePath), text, optional)
}

// knownMessages is the map of the messages nested once, or "".
func (e *emitter) knownMessages(m *model.Message) string {
	var nested []string
	for _, f := range m.FieldsByNumber() {
		inner := f.Nested()
		if inner == nil {
			continue
		}
		name := inner.KnownVar()
		if f.Kind.Form == model.FormPointer {
			name += "Optional"
		}
		nested = append(nested, fmt.Sprintf("%d: &%s", f.Number, name))
	}
	if len(nested) == 0 {
		return ""
	}
	return fmt.Sprintf("map[int32]*%s.FieldSet{%s}", e.importPackage(model.WirePath), strings.Join(nested, ", "))
}
