// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Type codes: the first byte of a packed element. Their order is the order of
// the kinds. An integer of n bytes (0 to 8) has the code codeZero+n, or
// codeZero-n if negative.
const (
	codeNil          = 0x00
	codeBytes        = 0x01
	codeString       = 0x02
	codeNested       = 0x05
	codeBigNegative  = 0x0b
	codeNegative8    = 0x0c
	codeZero         = 0x14
	codePositive8    = 0x1c
	codeBigPositive  = 0x1d
	codeFloat32      = 0x20
	codeFloat64      = 0x21
	codeFalse        = 0x26
	codeTrue         = 0x27
	codeUUID         = 0x30
	codeVersionstamp = 0x33
)

// escape follows a zero byte that is content: inside bytes and strings, and
// where a nested tuple holds nil. No type code is as high, so a zero byte
// without it is always the end.
const escape = 0xff

// maxDepth bounds how deep tuples nest, so that hostile input cannot exhaust
// the stack. A key of FoundationDB has at most so many bytes, hence at most so
// many levels.
const maxDepth = 10_000

// maxBigIntBytes is the longest magnitude of an integer: its length is one byte.
const maxBigIntBytes = 255

// Unpack decodes a key into its elements: nil, []byte, string, int64, uint64,
// [*big.Int], float32, float64, bool, [UUID], [Versionstamp] or [Tuple]. The
// result shares no memory with b and is never nil if err is nil. The error is an
// [ErrMalformed] that names the position.
func Unpack(b []byte) (Tuple, error) {
	t := make(Tuple, 0, min(8, len(b)))
	for i := 0; i < len(b); {
		element, size, fail := decodeElement(b[i:], 0)
		if fail != nil {
			return nil, fail.at(i)
		}
		t = append(t, element)
		i += size
	}
	return t, nil
}

// Next decodes the element that b begins with, as [Unpack] does, and returns
// what follows it. Where b is empty the error wraps [ErrNoElement].
func Next(b []byte) (element any, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, fault(b, ErrNoElement, "the key ends where an element was expected")
	}
	element, size, fail := decodeElement(b, 0)
	if fail != nil {
		return nil, nil, fail
	}
	return element, b[size:], nil
}

// Skip returns what follows the element that b begins with. It fails exactly
// where [Next] fails, and does not allocate otherwise.
func Skip(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, fault(b, ErrNoElement, "the key ends where an element was expected")
	}
	size, fail := sizeOf(b)
	if fail != nil {
		return nil, fail
	}
	return b[size:], nil
}

// ReadTuple decodes the nested tuple that b begins with.
func ReadTuple(b []byte) (v Tuple, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeNested {
		return nil, nil, wrongType(b, "a nested tuple")
	}
	v, size, fail := decodeNested(b, 1)
	if fail != nil {
		return nil, nil, fail
	}
	return v, b[size:], nil
}

// decodeElement decodes the element that b, not empty, begins with, and its
// size. depth is how many tuples are around it.
func decodeElement(b []byte, depth int) (element any, size int, fail *decodeError) {
	if b[0] == codeNested {
		return decodeNested(b, depth+1)
	}
	if b[0] == codeBytes || b[0] == codeString {
		return decodeText(b)
	}
	if b[0] >= codeBigNegative && b[0] <= codeBigPositive {
		n, fail := frameInteger(b)
		if fail != nil {
			return nil, 0, fail
		}
		return n.element(b[0]), n.size, nil
	}
	if size, fail = fixedSize(b); fail != nil {
		return nil, 0, fail
	}
	return decodeFixed(b), size, nil
}

func decodeText(b []byte) (element any, size int, fail *decodeError) {
	t, fail := frameText(b)
	if fail != nil {
		return nil, 0, fail
	}
	if b[0] == codeString {
		return t.string(), t.size, nil
	}
	return t.bytes(), t.size, nil
}

// decodeFixed decodes an element that fixedSize has accepted.
func decodeFixed(b []byte) any {
	switch b[0] {
	case codeFloat32:
		return float32At(b)
	case codeFloat64:
		return float64At(b)
	case codeFalse, codeTrue:
		return b[0] == codeTrue
	case codeUUID:
		return UUID(b[1:17])
	case codeVersionstamp:
		return versionstampAt(b)
	}
	return nil
}

// fixedSize returns the size of the element that b begins with if its code
// determines it.
func fixedSize(b []byte) (int, *decodeError) {
	size := 0
	switch b[0] {
	case codeNil, codeFalse, codeTrue:
		size = 1
	case codeFloat32:
		size = 5
	case codeFloat64:
		size = 9
	case codeUUID:
		size = 17
	case codeVersionstamp:
		size = 1 + stampSize
	default:
		return 0, fault(b, ErrMalformed, "no element begins with this byte")
	}
	if len(b) < size {
		return 0, tooShort(b, size)
	}
	return size, nil
}

// decodeNested decodes the nested tuple that b begins with. A zero byte ends
// it, unless an escape makes it a nil element; so does the end of the key, as
// in the official layer. depth is that of its elements.
func decodeNested(b []byte, depth int) (Tuple, int, *decodeError) {
	if depth > maxDepth {
		return nil, 0, fault(b, ErrMalformed, "tuples nest deeper than %d", maxDepth)
	}
	t, i := Tuple{}, 1
	for i < len(b) {
		if b[i] != codeNil {
			element, size, fail := decodeElement(b[i:], depth)
			if fail != nil {
				return nil, 0, fail.at(i)
			}
			t = append(t, element)
			i += size
			continue
		}
		if i+1 == len(b) || b[i+1] != escape {
			return t, i + 1, nil
		}
		t = append(t, nil)
		i += 2
	}
	return t, i, nil
}

// sizeOf returns the size of the element that b, not empty, begins with.
func sizeOf(b []byte) (int, *decodeError) {
	if b[0] != codeNested {
		return flatSize(b)
	}
	depth, i := 1, 1
	for depth > 0 && i < len(b) {
		switch {
		case b[i] == codeNested:
			if depth++; depth > maxDepth {
				return 0, fault(b[i:], ErrMalformed, "tuples nest deeper than %d", maxDepth).at(i)
			}
			i++
		case b[i] != codeNil:
			size, fail := flatSize(b[i:])
			if fail != nil {
				return 0, fail.at(i)
			}
			i += size
		case i+1 < len(b) && b[i+1] == escape:
			i += 2
		default:
			depth--
			i++
		}
	}
	return i, nil
}

// flatSize is sizeOf for elements that are not nested tuples.
func flatSize(b []byte) (int, *decodeError) {
	switch {
	case b[0] == codeBytes || b[0] == codeString:
		t, fail := frameText(b)
		return t.size, fail
	case b[0] >= codeBigNegative && b[0] <= codeBigPositive:
		n, fail := frameInteger(b)
		return n.size, fail
	}
	return fixedSize(b)
}

// What can go wrong. Every error of this package wraps one of them; those of decoding
// name the position of the element, ErrPack its index.
var (
	// ErrPack says that an element, or a tuple, cannot be packed. The text names the element and
	// its Go type, and says what to do.
	ErrPack = errors.New("tuple: cannot pack")
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

// decodeError says where and why bytes could not be decoded.
type decodeError struct {
	Offset int    // of the faulty element, in bytes from the start of what was passed in
	Code   byte   // the type code found there; 0 also where nothing was left
	Reason string // what was wrong, in words

	kind error
}

// Error implements error.
func (e *decodeError) Error() string {
	return fmt.Sprintf("tuple: element at offset %d (type code 0x%02x): %s", e.Offset, e.Code, e.Reason)
}

// Unwrap returns [ErrMalformed], [ErrNoElement], [ErrWrongType] or [ErrOutOfRange].
func (e *decodeError) Unwrap() error { return e.kind }

// at moves the error's position by offset and returns it as an error.
func (e *decodeError) at(offset int) *decodeError {
	e.Offset += offset
	return e
}

// fault returns a decodeError about the element that b begins with.
func fault(b []byte, kind error, format string, args ...any) *decodeError {
	e := &decodeError{Reason: fmt.Sprintf(format, args...), kind: kind}
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
func tooShort(b []byte, n int) *decodeError {
	return fault(b, ErrMalformed, "%s needs %d bytes, %d are left", kindName(b[0]), n, len(b))
}

// encodeError says which element of a tuple could not be packed, and why.
type encodeError struct {
	Path   []int  // index of the element, inside nested tuples one index a level; empty for the whole tuple
	Type   string // Go type of the element
	Reason string // what was wrong and what to do, in words
}

// Error implements error.
func (e *encodeError) Error() string {
	if len(e.Path) == 0 {
		return ErrPack.Error() + ": " + e.Reason
	}
	path := make([]string, len(e.Path))
	for i, index := range e.Path {
		path[i] = strconv.Itoa(index)
	}
	return fmt.Sprintf("tuple: cannot pack element %s (%s): %s", strings.Join(path, "."), e.Type, e.Reason)
}

// Unwrap returns [ErrPack].
func (e *encodeError) Unwrap() error { return ErrPack }

func unpackable(element any, format string, args ...any) *encodeError {
	return &encodeError{Type: fmt.Sprintf("%T", element), Reason: fmt.Sprintf(format, args...)}
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
