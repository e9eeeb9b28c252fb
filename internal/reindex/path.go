// SPDX-License-Identifier: Apache-2.0

package reindex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
)

// path is the way from the type to a field, through nested messages held once.
type path []*schema.Field

// findPath looks up a field by its name in keys, such as Address.City.
func findPath(s *schema.Schema, name string) (path, error) {
	var p path
	for block := s.Type(); ; {
		step, rest, more := strings.Cut(name, ".")
		f := block.Field(step)
		if f == nil {
			return nil, fmt.Errorf("the schema of the store has no field %s in %s", step, block.Name)
		}
		p, name = append(p, f), rest
		if !more {
			return p, nil
		}
		k, _ := schema.ParseKind(f.Kind)
		if block = s.Message(f); block == nil || k.Wrap != "" && k.Wrap != "*" {
			return nil, fmt.Errorf("the field %s of the store is %s, which holds no field %s", step, f.Kind, rest)
		}
	}
}

// nullable tells whether a step of a path may be null.
type nullable int

const (
	never   nullable = iota
	always           // in all programs
	changed          // in some programs, since the field was changed
)

func nullableOf(f *schema.Field) nullable {
	isPointer := func(kind string) bool { return strings.HasPrefix(kind, "*") }
	switch is := isPointer(f.Kind); {
	case slices.ContainsFunc(f.Was, func(kind string) bool { return isPointer(kind) != is }):
		return changed
	case is:
		return always
	}
	return never
}

// nulls returns at which steps the path may be null, given whether the index says
// that it may be. A program that has the field as a pointer and one that has not
// give an index different layouts. But of a path of several steps the layout does
// not tell which of them is the pointer.
func (p path) nulls(null bool) ([]bool, error) {
	steps := make([]bool, len(p))
	var certain, open int
	for i, f := range p {
		switch nullableOf(f) {
		case always:
			steps[i] = true
			certain++
		case changed:
			steps[i] = null
			open++
		}
	}
	switch {
	case !null && certain > 0:
		return nil, fmt.Errorf("the field %s may be null in the store, and not in the index", p)
	case null && certain+open == 0:
		return nil, fmt.Errorf("the field %s may be null in the index, and not in the store", p)
	case null && open > 0 && certain+open > 1:
		return nil, fmt.Errorf("the field %s was changed, so that it may be null at several of its steps, and the layout does not tell at which", p)
	}
	return steps, nil
}

// String is the field's name in keys.
func (p path) String() string {
	names := make([]string, len(p))
	for i, f := range p {
		names[i] = f.Name
	}
	return strings.Join(names, ".")
}

// last returns the field at the end.
func (p path) last() *schema.Field { return p[len(p)-1] }

// mark is an element of the signature of an index: the kind of one field.
type mark struct {
	null, slice bool
	key         string // the kind without what is around it
}

func parseMark(text string) (m mark) {
	m.key, m.null = strings.CutPrefix(text, "*")
	m.key, m.slice = strings.CutPrefix(m.key, "[]")
	return m
}

// value returns how the values at the end of a path are stored: the kind that m
// means, of those that the field has and had. The first is the widest.
func (p path) value(m mark) (v value, err error) {
	f := p.last()
	for _, text := range append([]string{f.Kind}, f.Was...) {
		k, _ := schema.ParseKind(text)
		v, ok := newValue(k)
		if ok && v.key == m.key && (k.Wrap == "[]") == m.slice && !strings.HasPrefix(k.Wrap, "map") {
			return v, nil
		}
	}
	return v, fmt.Errorf("the field %s is %s in the store; only the type's Go code can make a key of it that the index calls %s", p, f.Kind, m.text())
}

// text is the element of the signature.
func (m mark) text() string {
	switch {
	case m.null:
		return "*" + m.key
	case m.slice:
		return "[]" + m.key
	}
	return m.key
}

// message reads the fields of one message that a program needs. It is the inner
// node of a tree, and the record is its root.
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

// readValues reads a value in place of the one before it, or elements after those
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
