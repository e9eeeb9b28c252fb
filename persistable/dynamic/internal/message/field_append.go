// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"

	"github.com/kazahana-db/kazahana/persistable/wire"
)

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

// appendValue appends one value behind its tag.
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
