// SPDX-License-Identifier: Apache-2.0

package dynamic

import "github.com/kazahana-db/kazahana/persistable/wire"

// message reads the fields of one message that a program needs. It is the inner
// node of a tree, whose root is the record.
type message struct {
	flag   int // of [state.present]
	fields []messageField
}

// messageField is a field of a message: a nested message, or values to be kept.
type messageField struct {
	number int32
	inner  *message // nil: values
	slot   int      // of [state.slots]
	slice  bool
	value
}

// find returns the field with that number, or nil.
func (m *message) find(number int32) *messageField {
	for i := range m.fields {
		if m.fields[i].number == number {
			return &m.fields[i]
		}
	}
	return nil
}

// read reads one occurrence of the message into the state. Of several occurrences a
// later one changes and completes what those before it have set, as everywhere
// in protobuf.
func (m *message) read(payload []byte, s *state) error {
	s.present[m.flag] = true
	r := wire.NewReader(payload)
	for r.Next() {
		switch f := m.find(r.Field()); {
		case f == nil:
			r.Skip()
		case f.inner != nil:
			if inner := r.Message(); r.Err() == nil {
				r.Check(f.inner.read(inner, s))
			}
		default:
			f.readValues(&r, &s.slots[f.slot])
		}
	}
	return r.Err()
}

// readValues reads a value in place of the one before it, or elements behind those
// before them.
func (f *messageField) readValues(r *wire.Reader, s *slot) {
	if !f.slice {
		s.keep(f.append(s.keys[:0], r))
		return
	}
	if f.wire == wire.BytesType {
		s.add(f.append(s.keys, r))
		return
	}
	for r.Repeated(f.wire) {
		s.add(f.append(s.keys, r))
	}
}
