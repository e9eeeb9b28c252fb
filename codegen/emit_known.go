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
	wire := e.pkg(wirePath)
	var numbers, nested []string
	for _, f := range m.byNumber() {
		numbers = append(numbers, fmt.Sprint(f.number))
		if inner := f.nested(); inner != nil {
			name := inner.knownVar()
			if f.typ.form == formPointer {
				name += "Optional"
			}
			nested = append(nested, fmt.Sprintf("%d: &%s", f.number, name))
		}
	}
	messages := ""
	if len(nested) > 0 {
		messages = fmt.Sprintf("map[int32]*%s.Known{%s}", wire, strings.Join(nested, ", "))
	}
	var names []string
	write := func(name, optional, comment string) {
		text := fmt.Sprintf("Numbers: []int32{%s}", strings.Join(numbers, ", "))
		if messages != "" && !m.recursive {
			text += ", Messages: " + messages
		}
		e.p("// %s are the fields of %s that this code knows%s; others survive a Save.", name, m.goName, comment)
		e.p("var %s = %s.Known{%s%s}\n", name, wire, text, optional)
		names = append(names, name)
	}
	if use.value {
		write(m.knownVar(), "", "")
	}
	if use.pointer {
		write(m.knownVar()+"Optional", ", Optional: true", ", where it may be absent")
	}
	if m.recursive && messages != "" {
		e.p("func init() { // not in the declaration, which would refer to itself")
		for _, name := range names {
			e.p("%s.Messages = %s", name, messages)
		}
		e.p("}\n")
	}
}
