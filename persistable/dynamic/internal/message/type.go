// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
)

// Type is a persistable type, or a message nested in one.
type Type struct {
	Name   string
	Fields []*Field // by number

	known    wire.FieldSet // where a message is held once
	optional wire.FieldSet // the same, held by pointer
}

// NewType returns the type that a schema describes. It returns an error for a kind of
// fields that this version does not know.
func NewType(s *schema.Schema) (*Type, error) {
	types := map[*schema.Block]*Type{}
	for _, b := range s.Blocks {
		types[b] = &Type{Name: b.Name}
	}
	for _, b := range s.Blocks {
		if err := types[b].addFields(s, b, types); err != nil {
			return nil, err
		}
	}
	for _, t := range types {
		t.setKnown()
	}
	return types[s.Type()], nil
}

func (t *Type) addFields(s *schema.Schema, b *schema.Block, types map[*schema.Block]*Type) error {
	for _, f := range b.Fields {
		one, err := newField(f, s)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", b.Name, f.Name, err)
		}
		one.Inner = types[s.Message(f)]
		t.Fields = append(t.Fields, one)
	}
	slices.SortFunc(t.Fields, func(a, b *Field) int { return cmp.Compare(a.Number, b.Number) })
	return nil
}

// setKnown sets the sets of the numbers that the type has.
func (t *Type) setKnown() {
	t.known.Messages = map[int32]*wire.FieldSet{}
	for _, f := range t.Fields {
		t.known.Numbers = append(t.known.Numbers, f.Number)
		switch {
		case f.Inner == nil:
		case f.Kind.Wrap == "":
			t.known.Messages[f.Number] = &f.Inner.known
		case f.Kind.Wrap == "*":
			t.known.Messages[f.Number] = &f.Inner.optional
		}
	}
	t.optional = t.known
	t.optional.Optional = true
}

// IsBounded reports whether fields of the type, or of messages nested in it, have bounds.
func (t *Type) IsBounded() bool { return t.isBounded(map[*Type]bool{}) }

func (t *Type) isBounded(seen map[*Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	return slices.ContainsFunc(t.Fields, func(f *Field) bool { return len(f.bounds) > 0 || f.Inner.isBounded(seen) })
}

// Known returns the fields of a message of the type that are read: others survive a
// write, by [wire.MergeUnknown].
func (t *Type) Known() *wire.FieldSet { return &t.known }

// Field returns the field with that name, or nil.
func (t *Type) Field(name string) *Field {
	if i := t.indexOf(name); i >= 0 {
		return t.Fields[i]
	}
	return nil
}

// indexOf returns which field has a name, -1 for none.
func (t *Type) indexOf(name string) int {
	return slices.IndexFunc(t.Fields, func(f *Field) bool { return f.Name == name })
}

// numbered returns which field has a number.
func (t *Type) numbered(number int32) (i int, found bool) {
	return slices.BinarySearchFunc(t.Fields, number, func(f *Field, n int32) int { return cmp.Compare(f.Number, n) })
}

// New returns a message without values: each field is zero, null or its default.
func (t *Type) New() *Message {
	m := &Message{Type: t, values: make([]any, len(t.Fields))}
	for i, f := range t.Fields {
		m.values[i] = f.initial()
	}
	return m
}

// Path returns the way to a field, such as Address.City. It returns an error if there is
// none, or it leads to what has no single values.
func (t *Type) Path(name string) (*Path, error) {
	p := &Path{Name: name}
	for _, step := range strings.Split(name, ".") {
		if p.last != nil && (p.last.Inner == nil || p.last.IsList() || p.last.IsMap()) {
			return nil, fmt.Errorf("%s: the field %s is %s, which holds no single field %s", name, p.last.Name, p.last.Kind, step)
		}
		if p.last != nil {
			t = p.last.Inner
		}
		i := t.indexOf(step)
		if i < 0 {
			return nil, fmt.Errorf("%s has no field %q%s", t.Name, step, t.suggestion(step))
		}
		p.steps, p.last = append(p.steps, i), t.Fields[i]
		p.null = p.null || p.last.IsNullable()
	}
	if p.last.Inner != nil || p.last.IsMap() {
		return nil, fmt.Errorf("%s is %s, which has no single value; name a field in it", name, p.last.Kind)
	}
	return p, nil
}

// Decode reads a message from bytes in the protobuf wire format. It takes the strings of the
// message from s, which may be nil. Malformed bytes, and values that are not of their field's kind,
// are a *[wire.Error]. Fields that the type does not have are left out.
func (t *Type) Decode(b []byte, s *wire.Strings) (*Message, error) {
	m := t.New()
	return m, m.decode(b, s, maxDepth)
}

// ParseJSON reads a message from a JSON object. A member that is missing leaves its field
// zero, null or its default, as [Type.New] has it. Whatever cannot be is an *[Error], with
// the member, its line and what is wanted: a member that the type does not have, or that
// comes twice; a value that is not of the field's kind.
func (t *Type) ParseJSON(text []byte) (*Message, error) {
	p := &parser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	if at := invalidUTF8(text); at >= 0 {
		return nil, &Error{Line: 1 + bytes.Count(text[:at], []byte("\n")), Reason: "a byte is not valid UTF-8"}
	}
	m, err := p.parseObject(t, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, p.fault("something follows the object; one record is one object")
	}
	return m, nil
}

// invalidUTF8 returns where the text is not valid UTF-8, -1 if it is.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// suggestion names the field that is probably meant.
func (t *Type) suggestion(name string) string {
	var names []string
	for _, f := range t.Fields {
		names = append(names, f.Name)
	}
	if near, distance := nearest.Word(name, names); near != "" && distance <= 2 {
		return "; did you mean " + near + "?"
	}
	return "; there are " + strings.Join(names, ", ")
}
