// SPDX-License-Identifier: Apache-2.0

package message

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
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
		one, err := newField(f)
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
