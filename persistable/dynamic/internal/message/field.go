// SPDX-License-Identifier: Apache-2.0

package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
)

// Field is a field of a type.
type Field struct {
	Number int32
	Name   string
	Kind   schema.Kind
	Inner  *Type // of the messages that it holds; nil: it holds scalars
	Preset any   // what a record without the field has; nil: zero

	bounds []bound
	scalar *scalar // nil: messages
	key    *scalar // of a map; nil: no map
}

func newField(f *schema.Field, s *schema.Schema) (*Field, error) {
	k, ok := schema.ParseKind(f.Kind)
	one := &Field{Number: f.Number, Name: f.Name, Kind: k}
	if k.Base != "message" {
		one.scalar = newScalar(k)
		ok = ok && one.scalar != nil
	}
	if base, isMap := strings.CutPrefix(k.Wrap, "map["); isMap {
		one.key = newScalar(schema.Kind{Base: strings.TrimSuffix(base, "]")})
		ok = ok && one.key != nil
	}
	if !ok {
		return nil, fmt.Errorf("the kind %s is not known to this version of the program", f.Kind)
	}
	if len(f.Enums) > 0 && !one.IsMap() && one.scalar != nil {
		if e := s.Enum(f.Enums[0]); e != nil {
			one.scalar = one.scalar.named(e)
		}
	}
	var err error
	if one.bounds, err = one.newBounds(f); err != nil {
		return nil, err
	}
	return one, one.setPreset(f)
}

// setPreset sets the default in the type that values of the kind have here.
func (f *Field) setPreset(line *schema.Field) error {
	v, err := schema.ParseDefault(line.Kind, line.Default)
	switch n := v.(type) {
	case float64:
		if f.Kind.Base == "float" {
			v = float32(n)
		}
	case int64:
		if f.Kind.Base == "duration" {
			v = time.Duration(n)
		}
	}
	f.Preset = v
	return err
}

// initial returns the value of a field that is not stored.
func (f *Field) initial() any {
	switch {
	case f.Preset != nil:
		return f.Preset
	case f.IsNullable() || f.scalar == nil && f.IsSingle():
		return nil
	case f.IsList():
		return []any(nil)
	case f.IsMap():
		return []Entry(nil)
	}
	return f.scalar.zero
}

// IsSingle reports whether the field holds one value that cannot be null.
func (f *Field) IsSingle() bool { return f.Kind.Wrap == "" }

// IsNullable reports whether the field holds one value or null.
func (f *Field) IsNullable() bool { return f.Kind.Wrap == "*" }

// IsList reports whether the field holds a list.
func (f *Field) IsList() bool { return f.Kind.Wrap == "[]" }

// IsMap reports whether the field holds a map.
func (f *Field) IsMap() bool { return f.key != nil }

// isPacked reports whether the elements of a list are stored in one packed value.
func (f *Field) isPacked() bool {
	return f.IsList() && f.scalar != nil && f.scalar.wire != wire.BytesType
}

// tag appends the tag of a single value.
func (f *Field) tag(b []byte) []byte {
	t := wire.BytesType
	if f.scalar != nil && !f.IsList() && !f.IsMap() {
		t = f.scalar.wire
	}
	return protowire.AppendTag(b, protowire.Number(f.Number), t)
}

// append appends the field with its tag, if it is stored.
func (f *Field) append(b []byte, v any, depth int) ([]byte, error) {
	switch {
	case f.IsList():
		return f.appendList(b, v.([]any), depth)
	case f.IsMap():
		return f.appendEntries(b, v.([]Entry), depth)
	case v == nil:
		return b, nil
	case f.IsSingle() && f.Inner != nil:
		return f.appendUnlessEmpty(b, v.(*Message), depth)
	case f.IsSingle() && f.Preset == nil && f.scalar.isZero(v):
		return b, nil
	}
	return f.appendValue(f.tag(b), v, depth)
}

// appendUnlessEmpty appends a message that is absent while it is empty.
func (f *Field) appendUnlessEmpty(b []byte, m *Message, depth int) ([]byte, error) {
	before := len(b)
	b, at := wire.BeginMessage(f.tag(b))
	b, err := m.append(b, depth-1)
	if err != nil || len(b) == at {
		return b[:before], err
	}
	return wire.EndMessage(b, at), nil
}

// appendValue appends one value after its tag.
func (f *Field) appendValue(b []byte, v any, depth int) ([]byte, error) {
	if f.Inner == nil {
		return f.scalar.appendChecked(b, v)
	}
	b, at := wire.BeginMessage(b)
	b, err := v.(*Message).append(b, depth-1)
	if err != nil {
		return b, err
	}
	return wire.EndMessage(b, at), nil
}

// appendList appends the elements: packed into one value where protobuf packs.
func (f *Field) appendList(b []byte, list []any, depth int) (_ []byte, err error) {
	if len(list) == 0 {
		return b, nil
	}
	if f.isPacked() {
		b, at := wire.BeginMessage(f.tag(b))
		for _, v := range list {
			b = f.scalar.append(b, v)
		}
		return wire.EndMessage(b, at), nil
	}
	for i, v := range list {
		if b, err = f.appendValue(f.tag(b), v, depth); err != nil {
			return b, within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return b, nil
}

// appendEntries appends the entries of a map, each a message of key and value.
func (f *Field) appendEntries(b []byte, entries []Entry, depth int) (_ []byte, err error) {
	for _, e := range entries {
		var at int
		b, at = wire.BeginMessage(f.tag(b))
		if b, err = f.appendEntry(b, e, depth); err != nil {
			return b, within("["+f.key.text(e.Key)+"]", err)
		}
		b = wire.EndMessage(b, at)
	}
	return b, nil
}

func (f *Field) appendEntry(b []byte, e Entry, depth int) ([]byte, error) {
	b, err := f.key.appendChecked(append(b, 1<<3|byte(f.key.wire)), e.Key)
	if err != nil {
		return b, err
	}
	return f.appendValue(append(b, 2<<3|byte(f.valueWire())), e.Value, depth)
}

// valueWire is the wire type of one value.
func (f *Field) valueWire() wire.Type {
	if f.Inner != nil {
		return wire.BytesType
	}
	return f.scalar.wire
}

// read reads an occurrence of the field, and returns its value, which was v before.
func (f *Field) read(v any, r *wire.Reader, s *wire.Strings, depth int) any {
	switch {
	case f.isPacked():
		list := v.([]any)
		for r.Repeated(f.scalar.wire) {
			list = append(list, f.scalar.read(r))
		}
		return list
	case f.IsList():
		return append(v.([]any), f.readValue(nil, r, s, depth))
	case f.IsMap():
		return f.readEntry(v.([]Entry), r, s, depth)
	}
	return f.readValue(v, r, s, depth)
}

// readValue reads one value. v is the message before it, or nil.
func (f *Field) readValue(v any, r *wire.Reader, s *wire.Strings, depth int) any {
	if f.Inner == nil {
		return f.scalar.read(r)
	}
	m, _ := v.(*Message)
	if m == nil {
		m = f.Inner.New()
	}
	if content := r.Message(); r.Err() == nil {
		r.Check(m.decode(content, s, depth-1))
	}
	return m
}

// readEntry reads an entry of a map, in place of the one before it with the same key.
func (f *Field) readEntry(entries []Entry, r *wire.Reader, s *wire.Strings, depth int) []Entry {
	e := Entry{Key: f.key.zero}
	if f.scalar != nil {
		e.Value = f.scalar.zero
	} else {
		e.Value = f.Inner.New()
	}
	inner := s.NewReader(r.Message())
	for inner.Next() {
		switch inner.Field() {
		case 1:
			e.Key = f.key.read(&inner)
		case 2:
			e.Value = f.readValue(e.Value, &inner, s, depth)
		default:
			inner.Skip()
		}
	}
	r.Check(inner.Err())
	return putEntry(entries, e)
}

// putEntry puts an entry into its place in the order of keys.
func putEntry(entries []Entry, e Entry) []Entry {
	at, found := slices.BinarySearchFunc(entries, e.Key, func(one Entry, key any) int { return compareKeys(one.Key, key) })
	if found {
		entries[at] = e
		return entries
	}
	return slices.Insert(entries, at, e)
}

// compareKeys compares two keys of a map.
func compareKeys(a, b any) int {
	switch x := a.(type) {
	case bool:
		y := b.(bool)
		return cmp.Compare(boolNumber(x), boolNumber(y))
	case int64:
		return cmp.Compare(x, b.(int64))
	case uint64:
		return cmp.Compare(x, b.(uint64))
	case string:
		return cmp.Compare(x, b.(string))
	}
	panic(fmt.Sprintf("message: %T is no key of a map", a)) // ParseKind has refused it
}

func boolNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// appendJSON appends the value of the field.
func (f *Field) appendJSON(b []byte, v any) []byte {
	switch {
	case f.IsList():
		return f.appendJSONList(b, v.([]any))
	case f.IsMap():
		return f.appendJSONMap(b, v.([]Entry))
	case v == nil && f.IsNullable():
		return append(b, "null"...)
	}
	return f.appendJSONValue(b, v)
}

// appendJSONValue appends one value.
func (f *Field) appendJSONValue(b []byte, v any) []byte {
	if f.Inner != nil {
		m, _ := v.(*Message)
		return m.AppendJSON(b)
	}
	return f.scalar.appendJSON(b, v)
}

func (f *Field) appendJSONList(b []byte, list []any) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendJSONValue(b, v)
	}
	return append(b, ']')
}

func (f *Field) appendJSONMap(b []byte, entries []Entry) []byte {
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, f.key.text(e.Key)), ':')
		b = f.appendJSONValue(b, e.Value)
	}
	return append(b, '}')
}

// wanted says what one value of the field is in JSON.
func (f *Field) wanted() string {
	if f.Inner != nil {
		return "an object"
	}
	return f.scalar.wanted
}
