// SPDX-License-Identifier: Apache-2.0

package message

import (
	"fmt"

	"github.com/kazahana-db/kazahana/internal/schema"
)

// newBounds returns the bounds that a schema gives a field.
func (f *Field) newBounds(line *schema.Field) (all []bound, err error) {
	for _, option := range schema.BoundOptions {
		literal := line.Rules.Value(option)
		if literal == "" {
			continue
		}
		one := bound{text: schema.BoundText(line.Kind, option, literal), shown: func(v any) any { return v }}
		switch option {
		case "maxlen":
			err = one.setLength(f, literal)
		case "match":
			err = one.setMatch(literal)
		default:
			err = one.setLimit(f, option, literal)
		}
		if err != nil {
			return nil, fmt.Errorf("its bound %s=%s: %w", option, literal, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// check compares a value of the field with its bounds; null has none.
func (f *Field) check(v any, depth int) *Error {
	for _, b := range f.bounds {
		if b.whole && b.breaks(v) {
			return &Error{Reason: schema.Broken(b.text, b.shown(v))}
		}
	}
	switch x := v.(type) {
	case []any:
		for i, element := range x {
			if err := f.checkValue(element, depth); err != nil {
				return err.in(fmt.Sprintf("[%d]", i))
			}
		}
		return nil
	case []Entry:
		for _, e := range x {
			if err := f.checkValue(e.Value, depth); err != nil {
				return err.in("[" + f.key.text(e.Key) + "]")
			}
		}
		return nil
	case nil:
		if f.Inner != nil && f.IsSingle() {
			return f.Inner.New().check(depth - 1)
		}
		return nil
	}
	return f.checkValue(v, depth)
}

// checkValue compares one value.
func (f *Field) checkValue(v any, depth int) *Error {
	if m, ok := v.(*Message); ok {
		return m.check(depth - 1)
	}
	for _, b := range f.bounds {
		if !b.whole && b.breaks(v) {
			return &Error{Reason: schema.Broken(b.text, b.shown(v))}
		}
	}
	return nil
}
