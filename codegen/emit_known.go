// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"fmt"
	"strings"
)

// knownUse tells which variables with field numbers a message needs.
type knownUse struct{ value, pointer bool }

// knownUses finds them: a record's own, and those of messages nested once.
func knownUses(p *pkg) map[*message]knownUse {
	uses := map[*message]knownUse{}
	var visit func(m *message)
	visit = func(m *message) {
		for _, f := range m.fields {
			inner := f.nested()
			if inner == nil {
				continue
			}
			use := uses[inner]
			seen := use.value || use.pointer
			if f.typ.form == formPointer {
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
	for _, r := range p.records {
		use := uses[r.message]
		seen := use.value || use.pointer
		use.value = true
		uses[r.message] = use
		if !seen {
			visit(r.message)
		}
	}
	return uses
}

// known writes the variables with the field numbers of a message.
func (e *emitter) known(m *message) {
	use := knownUses(e.model)[m]
	var names []string
	if use.value {
		names = append(names, m.knownVar())
		e.knownVariable(m, m.knownVar(), "", "")
	}
	if use.pointer {
		names = append(names, m.knownVar()+"Optional")
		e.knownVariable(m, m.knownVar()+"Optional", ", Optional: true", ", where it may be absent")
	}
	nested := e.knownMessages(m)
	if len(names) == 0 || nested == "" || !m.recursive {
		return
	}
	e.p("func init() { // not in the declaration, which would refer to itself")
	for _, name := range names {
		e.p("%s.Messages = %s", name, nested)
	}
	e.p("}\n")
}

// knownVariable writes one of the variables.
func (e *emitter) knownVariable(m *message, name, optional, comment string) {
	var numbers []string
	for _, f := range m.byNumber() {
		numbers = append(numbers, fmt.Sprint(f.number))
	}
	text := fmt.Sprintf("Numbers: []int32{%s}", strings.Join(numbers, ", "))
	if nested := e.knownMessages(m); nested != "" && !m.recursive {
		text += ", Messages: " + nested
	}
	e.p("// %s are the fields of %s that this code knows%s; others survive a Save.", name, m.goName, comment)
	e.p("var %s = %s.FieldSet{%s%s}\n", name, e.pkg(wirePath), text, optional)
}

// knownMessages is the map of the messages nested once, or "".
func (e *emitter) knownMessages(m *message) string {
	var nested []string
	for _, f := range m.byNumber() {
		inner := f.nested()
		if inner == nil {
			continue
		}
		name := inner.knownVar()
		if f.typ.form == formPointer {
			name += "Optional"
		}
		nested = append(nested, fmt.Sprintf("%d: &%s", f.number, name))
	}
	if len(nested) == 0 {
		return ""
	}
	return fmt.Sprintf("map[int32]*%s.FieldSet{%s}", e.pkg(wirePath), strings.Join(nested, ", "))
}
