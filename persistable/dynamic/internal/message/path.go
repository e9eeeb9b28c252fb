// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

// Path is the way from a type to a field with single values, or a list of these, through
// messages held once.
type Path struct {
	Name  string // the names of the fields, joined by dots
	steps []int  // which field of each message
	last  *Field
	null  bool // a step may be null
}

// Kind returns the kind of the field at the end.
func (p *Path) Kind() string { return p.last.Kind.String() }

// IsList reports whether the values are those of a list.
func (p *Path) IsList() bool { return p.last.IsList() }

// IsNullable reports whether the value may be null.
func (p *Path) IsNullable() bool { return p.null }

// KeyKind is the kind of the field in the signature of an index whose keys have the
// values that [Path.AppendKey] appends.
func (p *Path) KeyKind() string {
	k := p.last.Kind
	k.Wrap = ""
	kind := k.String()
	switch word := strings.TrimRight(kind, "0123456789"); {
	case kind == "bytes[16]":
		kind = "uuid"
	case k.Base == "bytes[]":
		kind = "bytes"
	case kind == "id", word == "int", word == "uint":
		kind = "int"
	}
	switch {
	case p.IsList():
		return "[]" + kind
	case p.null:
		return "*" + kind
	}
	return kind
}

// AppendKey appends the value that a message has as a tuple element; of a list, each
// element.
func (p *Path) AppendKey(b []byte, m *Message) []byte {
	var v any
	for i, step := range p.steps {
		if v = m.values[step]; i == len(p.steps)-1 {
			break
		}
		f := m.Type.Fields[step]
		if m, _ = v.(*Message); m != nil {
			continue
		}
		if f.IsNullable() {
			return tuple.AppendNil(b)
		}
		m = f.Inner.New()
	}
	return p.appendKey(b, v)
}

func (p *Path) appendKey(b []byte, v any) []byte {
	switch {
	case p.IsList():
		for _, element := range v.([]any) {
			b = p.last.scalar.key(b, element)
		}
		return b
	case v == nil:
		return tuple.AppendNil(b)
	}
	return p.last.scalar.key(b, v)
}

// ParseKey returns a value, or an element of a list, given as text, as a tuple element.
func (p *Path) ParseKey(text string) ([]byte, error) {
	v, err := p.ParseValue(text)
	if err != nil {
		return nil, err
	}
	return p.last.scalar.key(nil, v), nil
}

// IsText reports whether the values are texts, which are written in quotes.
func (p *Path) IsText() bool { return p.last.scalar == stringScalar }

// KeyText returns the text of a tuple element that [Path.AppendKey] has appended.
func (p *Path) KeyText(element []byte) (string, error) {
	if tuple.IsNil(element) {
		return "null", nil
	}
	v, _, err := p.last.scalar.readKey(element)
	if err != nil {
		return "", err
	}
	return p.last.scalar.text(v), nil
}

// ReadKey reads a value, not null, from the tuple element that [Path.AppendKey] has
// appended. It returns what follows it.
func (p *Path) ReadKey(b []byte) (v any, rest []byte, err error) { return p.last.scalar.readKey(b) }

// ParseValue returns a value given as text.
func (p *Path) ParseValue(text string) (any, error) {
	v, err := p.last.scalar.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: it is %.60q; wanted is %s", p.Name, text, p.last.scalar.wanted)
	}
	return v, nil
}

// Text returns a value, not null, as text.
func (p *Path) Text(v any) string { return p.last.scalar.text(v) }

// IsZero reports whether a value, not null, is the zero of its kind.
func (p *Path) IsZero(v any) bool { return p.last.scalar.isZero(v) }

// Zero returns the zero of the kind.
func (p *Path) Zero() any { return p.last.scalar.zero }

// Get returns the value of a message for a path of one step.
func (p *Path) Get(m *Message) any { return m.values[p.steps[0]] }

// Set sets the value of a message for a path of one step.
func (p *Path) Set(m *Message, v any) { m.values[p.steps[0]] = v }
