// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What went wrong in decoding; every [*DecodeError] of this package wraps one
// of them.
var (
	// ErrMalformed says that the bytes are not a packed tuple.
	ErrMalformed = errors.New("tuple: malformed")
	// ErrNoElement says that an element was asked for where the key ends.
	ErrNoElement = errors.New("tuple: no element left")
	// ErrWrongType says that the next element has another type than the one asked for.
	ErrWrongType = errors.New("tuple: element of another type")
	// ErrOutOfRange says that the next element is an integer too large for the type asked for.
	ErrOutOfRange = errors.New("tuple: integer out of range")
	// ErrNotInSubspace says that a key does not begin with the subspace's prefix.
	ErrNotInSubspace = errors.New("tuple: key is not in the subspace")
)

// DecodeError says where and why bytes could not be decoded.
type DecodeError struct {
	Offset int    // of the faulty element, in bytes from the start of what was passed in
	Code   byte   // the type code found there; 0 also where nothing was left
	Reason string // what was wrong, in words

	kind error
}

// Error implements error.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("tuple: element at offset %d (type code 0x%02x): %s", e.Offset, e.Code, e.Reason)
}

// Unwrap returns [ErrMalformed], [ErrNoElement], [ErrWrongType] or [ErrOutOfRange].
func (e *DecodeError) Unwrap() error { return e.kind }

// at moves the error's position by offset and returns it as an error.
func (e *DecodeError) at(offset int) *DecodeError {
	e.Offset += offset
	return e
}

// fault returns a DecodeError about the element that b begins with.
func fault(b []byte, kind error, format string, args ...any) *DecodeError {
	e := &DecodeError{Reason: fmt.Sprintf(format, args...), kind: kind}
	if len(b) > 0 {
		e.Code = b[0]
	}
	return e
}

// wrongType explains that b does not begin with what was wanted.
func wrongType(b []byte, wanted string) error {
	if len(b) == 0 {
		return fault(b, ErrNoElement, "the key ends where %s was expected", wanted)
	}
	return fault(b, ErrWrongType, "%s is here, %s was expected", kindName(b[0]), wanted)
}

// tooShort explains that the element that b begins with needs n bytes.
func tooShort(b []byte, n int) *DecodeError {
	return fault(b, ErrMalformed, "%s needs %d bytes, %d are left", kindName(b[0]), n, len(b))
}

// EncodeError says which element of a tuple could not be packed, and why.
type EncodeError struct {
	Path   []int  // index of the element, inside nested tuples one index a level; empty for the whole tuple
	Type   string // Go type of the element
	Reason string // what was wrong and what to do, in words
}

// Error implements error.
func (e *EncodeError) Error() string {
	if len(e.Path) == 0 {
		return "tuple: cannot pack: " + e.Reason
	}
	path := make([]string, len(e.Path))
	for i, index := range e.Path {
		path[i] = strconv.Itoa(index)
	}
	return fmt.Sprintf("tuple: cannot pack element %s (%s): %s", strings.Join(path, "."), e.Type, e.Reason)
}

func unpackable(element any, format string, args ...any) *EncodeError {
	return &EncodeError{Type: fmt.Sprintf("%T", element), Reason: fmt.Sprintf(format, args...)}
}

// kindName names the kind of element that a type code begins.
func kindName(code byte) string {
	switch {
	case code >= codeBigNegative && code <= codeBigPositive:
		return "an integer"
	case code == codeFalse || code == codeTrue:
		return "a bool"
	}
	if name, ok := kindNames[code]; ok {
		return name
	}
	return "an unknown element"
}

var kindNames = map[byte]string{
	codeNil:          "nil",
	codeBytes:        "a byte string",
	codeString:       "a string",
	codeNested:       "a nested tuple",
	codeFloat32:      "a float32",
	codeFloat64:      "a float64",
	codeUUID:         "a UUID",
	codeVersionstamp: "a versionstamp",
}
