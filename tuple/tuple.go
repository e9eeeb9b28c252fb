// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// Tuple is a list of elements; the package comment lists their types. The nil
// Tuple is the empty tuple.
type Tuple []any

// Pack returns the tuple as a key. The error is an [ErrPack] that names
// the element that is of no element type, is a nil or too long [*big.Int], or is an
// incomplete versionstamp (for which see [Tuple.PackVersionstamped]).
func (t Tuple) Pack() ([]byte, error) {
	b, fail := appendElements(make([]byte, 0, packRoom), t, nil, 0)
	if fail != nil {
		return nil, fail
	}
	return b, nil
}

// packRoom is the capacity that a key starts with: enough for most, so that
// packing allocates once.
const packRoom = 64

// MustPack is [Tuple.Pack] for tuples that cannot fail, such as literals in
// code: it panics on error.
func (t Tuple) MustPack() []byte {
	b, err := t.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// Append appends the packed tuple to dst. On error, which is as for
// [Tuple.Pack], it returns dst as it was.
func (t Tuple) Append(dst []byte) ([]byte, error) {
	b, fail := appendElements(dst, t, nil, 0)
	if fail != nil {
		return dst, fail
	}
	return b, nil
}

// AppendTuple appends t as one element, a nested tuple. On error, which is as
// for [Tuple.Pack], it returns dst as it was.
func AppendTuple(dst []byte, t Tuple) ([]byte, error) {
	b, fail := appendNested(dst, t, nil, 1)
	if fail != nil {
		return dst, fail
	}
	return b, nil
}

// Range returns the range of the keys that pack a longer tuple beginning with
// t: from begin inclusive to end exclusive. The key of t itself is not in it.
func (t Tuple) Range() (begin, end []byte, err error) {
	b, err := t.Pack()
	if err != nil {
		return nil, nil, err
	}
	return withByte(b, 0), withByte(b, 0xff), nil
}

// withByte returns b and one more byte in new memory.
func withByte[S []byte | string](b S, last byte) []byte {
	return append(append(make([]byte, 0, len(b)+1), b...), last)
}

// appendElements appends the elements of t one after another. found is nil
// where incomplete versionstamps are refused; depth is that of the elements.
func appendElements(dst []byte, t Tuple, found *stamps, depth int) ([]byte, *encodeError) {
	for i, element := range t {
		var fail *encodeError
		switch {
		case element != nil:
			dst, fail = appendElement(dst, element, found, depth)
		case depth > 0:
			dst = append(dst, codeNil, escape)
		default:
			dst = append(dst, codeNil)
		}
		if fail != nil {
			fail.Path = append([]int{i}, fail.Path...)
			return dst, fail
		}
	}
	return dst, nil
}

func appendNested(dst []byte, t Tuple, found *stamps, depth int) ([]byte, *encodeError) {
	if depth > maxDepth {
		return dst, unpackable(t, "tuples nest deeper than %d", maxDepth)
	}
	dst, fail := appendElements(append(dst, codeNested), t, found, depth)
	return append(dst, 0), fail
}

// appendElement appends an element that is not nil.
func appendElement(dst []byte, element any, found *stamps, depth int) ([]byte, *encodeError) {
	switch v := element.(type) {
	case []byte:
		return AppendBytes(dst, v), nil
	case string:
		return AppendString(dst, v), nil
	case Tuple:
		return appendNested(dst, v, found, depth+1)
	case float32:
		return AppendFloat32(dst, v), nil
	case float64:
		return AppendFloat64(dst, v), nil
	case bool:
		return AppendBool(dst, v), nil
	case UUID:
		return AppendUUID(dst, v), nil
	case Versionstamp:
		return appendStamp(dst, v, found)
	case *big.Int:
		return appendBigInt(dst, v)
	}
	if negative, magnitude, ok := goInteger(element); ok {
		return appendMagnitude(dst, 0, magnitude, negative), nil
	}
	return dst, unpackable(element, "not an element type; convert it to a basic type, UUID, Versionstamp or Tuple")
}

func appendStamp(dst []byte, v Versionstamp, found *stamps) ([]byte, *encodeError) {
	if v.IsIncomplete() {
		if found == nil {
			return dst, unpackable(v, "an incomplete versionstamp; use PackVersionstamped")
		}
		found.count++
		found.offset = len(dst) + 1
	}
	return AppendVersionstamp(dst, v), nil
}

// goInteger returns sign and magnitude of an element of one of Go's integer
// types.
func goInteger(element any) (negative bool, magnitude uint64, ok bool) {
	var signed int64
	switch v := element.(type) {
	case int64:
		signed = v
	case int:
		signed = int64(v)
	case int32:
		signed = int64(v)
	case int16:
		signed = int64(v)
	case int8:
		signed = int64(v)
	case uint64:
		return false, v, true
	case uint:
		return false, uint64(v), true
	case uint32:
		return false, uint64(v), true
	case uint16:
		return false, uint64(v), true
	case uint8:
		return false, uint64(v), true
	default:
		return false, 0, false
	}
	if signed < 0 {
		return true, uint64(-signed), true
	}
	return false, uint64(signed), true
}

// String returns the tuple for humans, like
//
//	("R", "User", 42, nil, 0x6162, true, 1.5, ("nested"))
//
// Strings are quoted as in Go, byte strings are hexadecimal, a float always
// has a point or an exponent, and a float32 ends with f.
func (t Tuple) String() string { return string(appendTupleText(nil, t)) }

// PackVersionstamped packs a tuple with exactly one incomplete versionstamp,
// nested or not, after prefix: the operand of FoundationDB's atomic operation
// SetVersionstampedKey. Its last four bytes are the little-endian offset of the
// ten bytes that the database overwrites at commit, and are cut off by it. The
// error is an [ErrPack].
func (t Tuple) PackVersionstamped(prefix []byte) ([]byte, error) {
	var found stamps
	key, fail := appendElements(append(make([]byte, 0, len(prefix)+packRoom), prefix...), t, &found, 0)
	if fail != nil {
		return nil, fail
	}
	if found.count != 1 {
		return nil, &encodeError{Reason: fmt.Sprintf(
			"a versionstamped key needs exactly one incomplete versionstamp, this tuple has %d", found.count)}
	}
	if uint64(found.offset) > math.MaxUint32 {
		return nil, &encodeError{Reason: "the versionstamp's offset does not fit four bytes"}
	}
	return binary.LittleEndian.AppendUint32(key, uint32(found.offset)), nil
}

// Subspace is the set of the keys that begin with a prefix: a part of the key
// space in which a layer packs its tuples. Subspaces are immutable and
// comparable; the zero Subspace is the whole key space.
type Subspace struct {
	prefix string
}

// NewSubspace returns the subspace of a prefix, which is copied.
func NewSubspace(prefix []byte) Subspace { return Subspace{string(prefix)} }

// Bytes returns a copy of the prefix.
func (s Subspace) Bytes() []byte { return []byte(s.prefix) }

// AppendTo appends the prefix to dst, without allocating if dst has the room.
func (s Subspace) AppendTo(dst []byte) []byte { return append(dst, s.prefix...) }

// Sub returns the subspace inside s with a prefix that ends with the packed elements.
// It panics with an [ErrPack] where [Tuple.Pack] fails: elements are chosen
// by the program, so pack those that come from outside with [Subspace.Pack].
func (s Subspace) Sub(elements ...any) Subspace {
	b, err := s.Pack(elements)
	if err != nil {
		panic(err)
	}
	return NewSubspace(b)
}

// Pack returns the key of t in s. Errors are those of [Tuple.Pack].
func (s Subspace) Pack(t Tuple) ([]byte, error) {
	b, err := t.Append(append(make([]byte, 0, len(s.prefix)+packRoom), s.prefix...))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// PackVersionstamped is [Tuple.PackVersionstamped] after the prefix of s.
func (s Subspace) PackVersionstamped(t Tuple) ([]byte, error) {
	return t.PackVersionstamped([]byte(s.prefix))
}

// Unpack decodes what follows the prefix in key. The error wraps
// [ErrNotInSubspace] if key is not in s, else it is that of [Unpack], with
// offsets counted from the end of the prefix.
func (s Subspace) Unpack(key []byte) (Tuple, error) {
	rest, err := s.Strip(key)
	if err != nil {
		return nil, err
	}
	return Unpack(rest)
}

// Strip returns what follows the prefix in key, sharing key's memory: what to
// hand to [Next] or [ReadInt]. The error wraps [ErrNotInSubspace].
func (s Subspace) Strip(key []byte) ([]byte, error) {
	if !s.Contains(key) {
		return nil, fmt.Errorf("%w: %x does not begin with %x", ErrNotInSubspace, key, s.prefix)
	}
	return key[len(s.prefix):], nil
}

// Contains reports whether key begins with the prefix of s.
func (s Subspace) Contains(key []byte) bool {
	return len(key) >= len(s.prefix) && string(key[:len(s.prefix)]) == s.prefix
}

// Range returns the range of all keys of s that pack a tuple of at least one
// element, from begin inclusive to end exclusive. The prefix itself is not in it.
func (s Subspace) Range() (begin, end []byte) {
	return withByte(s.prefix, 0), withByte(s.prefix, 0xff)
}

// String returns the prefix as [Describe] does.
func (s Subspace) String() string { return "Subspace" + Describe([]byte(s.prefix)) }
