// SPDX-License-Identifier: Apache-2.0

package message

import "slices"

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

// Clone returns a copy whose fields can be set; it shares nested messages, lists and maps.
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
