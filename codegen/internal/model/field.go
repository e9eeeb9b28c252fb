// SPDX-License-Identifier: Apache-2.0

package model

import (
	"go/token"
	"strings"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

// Field is one stored field.
type Field struct {
	GoName  string
	Name    string   // key-stable: name=, or the Go name
	Path    []string // from the message through embedded structs, ending in goName
	At      token.Position
	Subject string
	Options tags.FieldOptions
	Kind    *Kind
	Number  int32
	Default string // default=, as persist.lock and Go write it; "" for none
	Foreign bool   // of a struct of another package, which cannot be tagged here
	Short   bool   // the promoted selector v.goName is unambiguous
}

// OptionAt is the position of an option in the field's tag, or of the field.
func (f *Field) OptionAt(option string) token.Position {
	if at, ok := f.Options.Positions[option]; ok {
		return at
	}
	return f.At
}

// Nested returns the message that a field holds once, by value or by pointer.
func (f *Field) Nested() *Message {
	switch {
	case f.Kind == nil:
		return nil
	case f.Kind.Form == FormPointer:
		return f.Kind.Elem.Message
	}
	return f.Kind.Message
}

// Selector is the Go expression of the field below the receiver.
func (f *Field) Selector(receiver string) string {
	if f.Short {
		return receiver + "." + f.GoName
	}
	return receiver + "." + strings.Join(f.Path, ".")
}
