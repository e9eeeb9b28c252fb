// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// Field is a field of a type.
type Field struct {
	Number int32
	Name   string
	Kind   schema.Kind
	Inner  *Type // of the messages that it holds; nil: it holds scalars
	Preset any   // what a record without the field has; nil: zero

	scalar *scalar // nil: messages
	key    *scalar // of a map; nil: no map
}

func newField(f *schema.Field) (*Field, error) {
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
