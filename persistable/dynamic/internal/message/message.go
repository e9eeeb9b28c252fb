// SPDX-License-Identifier: Apache-2.0

package message

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// Message is a record or a nested message. A value of a field is, by its kind:
//
//	bool                   bool
//	intN, id               int64
//	uintN                  uint64
//	float, double          float32, float64
//	string, text(X)        string
//	bytes, binary(X)       []byte
//	bytes[16], bytes[N]    tuple.UUID, a string of N bytes
//	time, duration         time.Time, time.Duration
//	message(X)             *Message; nil for one that is not stored
//	*K                     nil for null, or a value of K
//	[]K, map[K]V           []any, []Entry in the order of the keys
type Message struct {
	Type   *Type
	values []any // in the order of the type's fields
}

// Entry is one entry of a map.
type Entry struct{ Key, Value any }

// Clone returns a copy with fields that can be set; it shares nested messages, lists and maps.
func (m *Message) Clone() *Message { return &Message{m.Type, slices.Clone(m.values)} }

// Error is a value that cannot be.
type Error struct {
	Path   string // the names that lead to the value, joined by dots; "" for the message
	Line   int    // of the text; 0 for none
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// in returns the error with the name of the message's field.
func (e *Error) in(name string) *Error {
	within := *e
	within.Path = joinPath(name, e.Path)
	return &within
}

func joinPath(outer, inner string) string {
	if outer == "" || inner == "" || inner[0] == '[' {
		return outer + inner
	}
	return outer + "." + inner
}

// maxDepth bounds how deep messages are nested, as in the code of persistgen.
const maxDepth = 1000

// Append appends the message in the protobuf wire format. It returns an *[Error] for a
// text that is not valid UTF-8, and for messages that are nested too deeply.
func (m *Message) Append(b []byte) ([]byte, error) { return m.append(b, maxDepth) }

func (m *Message) append(b []byte, depth int) (_ []byte, err error) {
	if depth == 0 {
		return b, &Error{Reason: fmt.Sprintf("it is nested more than %d deep", maxDepth)}
	}
	for i, f := range m.Type.Fields {
		if b, err = f.append(b, m.values[i], depth); err != nil {
			return b, within(f.Name, err)
		}
	}
	return b, nil
}

// within adds the name of a field to an *[Error].
func within(name string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.in(name)
	}
	return err
}

// decode reads a further occurrence of the message, which changes and completes what
// those before it have set.
func (m *Message) decode(b []byte, s *wire.Strings, depth int) error {
	if depth == 0 {
		return wire.TooDeep(maxDepth)
	}
	r := s.NewReader(b)
	for r.Next() {
		i, found := m.Type.numbered(r.Field())
		if !found {
			r.Skip()
			continue
		}
		m.values[i] = m.Type.Fields[i].read(m.values[i], &r, s, depth)
	}
	return r.Err()
}

// AppendJSON appends the message as a JSON object, on one line, with a member for each
// field in the order of their numbers. A message that is not stored is an empty object.
func (m *Message) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if m != nil {
		for i, f := range m.Type.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, f.Name), ':')
			b = f.appendJSON(b, m.values[i])
		}
	}
	return append(b, '}')
}

// Check returns the first field with a value that breaks its bounds, or nil.
func (m *Message) Check() *Error { return m.check(maxDepth) }

func (m *Message) check(depth int) *Error {
	if depth == 0 {
		return nil
	}
	for i, f := range m.Type.Fields {
		if err := f.check(m.values[i], depth); err != nil {
			return err.in(f.Name)
		}
	}
	return nil
}

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

// KeyKind is the kind of the field in the signature of an index that has the values of
// [Path.AppendKey] in its keys.
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

// Plain returns the path with the numbers of constants in place of their names, as elements of
// directories are written.
func (p *Path) Plain() *Path {
	plain, last := *p, *p.last
	last.scalar = newScalar(last.Kind)
	plain.last = &last
	return &plain
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
