// SPDX-License-Identifier: Apache-2.0

package message

import (
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// scalar is how the single values of a kind that is no message are stored, stand in
// keys, and are shown.
type scalar struct {
	wire    wire.Type
	zero    any
	isZero  func(v any) bool
	append  func(b []byte, v any) []byte // as they are stored, behind the tag
	read    func(r *wire.Reader) any
	key     func(b []byte, v any) []byte // as tuple elements
	readKey func(b []byte) (v any, rest []byte, err error)
	text    func(v any) string
	parse   func(text string) (any, error)
	json    jsonForm
	wanted  string // what parse takes, for errors
}

// jsonForm is what a value is in JSON.
type jsonForm int

const (
	jsonText    jsonForm = iota // a string
	jsonInteger                 // a number; a string is taken, too, for readers without 64-bit integers
	jsonFloat                   // a number, or a string for what is not finite
	jsonBool
)

// codec is a scalar with the type of its values.
type codec[T any] struct {
	append  func(b []byte, v T) []byte
	read    func(r *wire.Reader) T
	key     func(b []byte, v T) []byte
	readKey func(b []byte) (T, []byte, error)
	text    func(v T) string
	parse   func(text string) (T, error)
	isZero  func(v T) bool
	zero    T
}

// scalar returns the codec without the type of its values.
func (c codec[T]) scalar(t wire.Type, form jsonForm, wanted string) *scalar {
	return &scalar{
		wire: t, zero: c.zero, json: form, wanted: wanted,
		isZero: func(v any) bool { return c.isZero(v.(T)) },
		append: func(b []byte, v any) []byte { return c.append(b, v.(T)) },
		read:   func(r *wire.Reader) any { return c.read(r) },
		key:    func(b []byte, v any) []byte { return c.key(b, v.(T)) },
		text:   func(v any) string { return c.text(v.(T)) },
		readKey: func(b []byte) (any, []byte, error) {
			v, rest, err := c.readKey(b)
			return v, rest, err
		},
		parse: func(text string) (any, error) {
			v, err := c.parse(text)
			return v, err
		},
	}
}

// isEqual returns a function that reports whether a value is zero.
func isEqual[T comparable](zero T) func(T) bool { return func(v T) bool { return v == zero } }

// newScalar returns the scalar of a kind, without what is around it; nil if this version
// does not know it, or it is a message.
func newScalar(k schema.Kind) *scalar {
	switch k.Base {
	case "bool":
		return boolScalar
	case "id":
		return idScalar
	case "float":
		return floatScalar
	case "double":
		return doubleScalar
	case "string", "text":
		return stringScalar
	case "bytes", "binary":
		return bytesScalar
	case "bytes[]":
		return newArray(k.Arg)
	case "time":
		return timeScalar
	case "duration":
		return durationScalar
	}
	return newInteger(k.Base)
}

// appendChecked is append for values that may be texts.
func (s *scalar) appendChecked(b []byte, v any) ([]byte, error) {
	if text, ok := v.(string); ok && s == stringScalar && !wire.ValidString(text) {
		return b, &Error{Reason: errNotUTF8.Error()}
	}
	return s.append(b, v), nil
}
