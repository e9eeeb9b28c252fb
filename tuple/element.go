// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// AppendBytes appends a byte string. A nil v is an empty byte string; for the
// nil element see [AppendNil].
func AppendBytes(dst, v []byte) []byte {
	dst = append(dst, codeBytes)
	for {
		i := bytes.IndexByte(v, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, v[:i+1]...), escape)
		v = v[i+1:]
	}
	return append(append(dst, v...), 0)
}

// AppendString appends a string. It need not be UTF-8 here, though other
// languages' layers may refuse to decode it otherwise.
func AppendString(dst []byte, v string) []byte {
	dst = append(dst, codeString)
	for {
		i := strings.IndexByte(v, 0)
		if i < 0 {
			break
		}
		dst = append(append(dst, v[:i+1]...), escape)
		v = v[i+1:]
	}
	return append(append(dst, v...), 0)
}

// ReadBytes decodes the byte string that b begins with, into memory of its
// own, never nil.
func ReadBytes(b []byte) (v, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeBytes {
		return nil, nil, wrongType(b, "a byte string")
	}
	t, fail := frameText(b)
	if fail != nil {
		return nil, nil, fail
	}
	return t.bytes(), b[t.size:], nil
}

// ReadString decodes the string that b begins with.
func ReadString(b []byte) (v string, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeString {
		return "", nil, wrongType(b, "a string")
	}
	t, fail := frameText(b)
	if fail != nil {
		return "", nil, fail
	}
	return t.string(), b[t.size:], nil
}

// BorrowString returns the bytes of the string that b begins with: those of b itself,
// unless the string has zero bytes.
func BorrowString(b []byte) (v, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeString {
		return nil, nil, wrongType(b, "a string")
	}
	t, fail := frameText(b)
	if fail != nil {
		return nil, nil, fail
	}
	if t.escapes > 0 {
		return t.bytes(), b[t.size:], nil
	}
	return t.content, b[t.size:], nil
}

// text is the frame of a packed byte string or string.
type text struct {
	content []byte // still escaped, without code and terminator
	escapes int    // how many zero bytes it holds
	size    int    // of the whole element
}

// frameText finds the end of the byte string or string that b begins with: the
// first zero byte that no escape follows.
func frameText(b []byte) (text, *decodeError) {
	for i, escapes := 1, 0; ; escapes++ {
		zero := bytes.IndexByte(b[i:], 0)
		if zero < 0 {
			return frameUnended(b, i, escapes)
		}
		i += zero + 1
		if i == len(b) || b[i] != escape {
			return text{b[1 : i-1], escapes, i}, nil
		}
		i++
	}
}

// frameUnended does with a text without an end what the official Go layer
// does. From start on, which is after the last escape, b holds no zero byte:
// the last of the escapes that stand there in a row serves as the end. Without
// one, the escape of the last zero byte serves, and without that the text is
// malformed.
func frameUnended(b []byte, start, escapes int) (text, *decodeError) {
	next := start
	for next < len(b) && b[next] == escape {
		next++
	}
	if next == 1 {
		return text{}, fault(b, ErrMalformed, "%s has no end", kindName(b[0]))
	}
	if next == start {
		escapes--
	}
	return text{b[1 : next-1], escapes, next}, nil
}

// bytes returns the content unescaped, in memory of its own.
func (t text) bytes() []byte {
	v := make([]byte, 0, len(t.content)-t.escapes)
	rest := t.content
	for range t.escapes {
		i := bytes.IndexByte(rest, 0)
		v = append(v, rest[:i+1]...)
		rest = rest[i+2:]
	}
	return append(v, rest...)
}

func (t text) string() string {
	if t.escapes == 0 {
		return string(t.content)
	}
	var v strings.Builder
	v.Grow(len(t.content) - t.escapes)
	rest := t.content
	for range t.escapes {
		i := bytes.IndexByte(rest, 0)
		v.Write(rest[:i+1])
		rest = rest[i+2:]
	}
	v.Write(rest)
	return v.String()
}

// UUID is a universally unique identifier; UUIDs sort by their bytes.
type UUID [16]byte

// String returns the usual form, like 00112233-4455-6677-8899-aabbccddeeff.
func (u UUID) String() string {
	var s [36]byte
	hex.Encode(s[0:], u[0:4])
	hex.Encode(s[9:], u[4:6])
	hex.Encode(s[14:], u[6:8])
	hex.Encode(s[19:], u[8:10])
	hex.Encode(s[24:], u[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// AppendNil appends the nil element of a tuple that is not nested.
func AppendNil(dst []byte) []byte { return append(dst, codeNil) }

// AppendBool appends a bool; false sorts before true.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendUUID appends a UUID.
func AppendUUID(dst []byte, v UUID) []byte { return append(append(dst, codeUUID), v[:]...) }

// AppendFloat32 appends a float32, all bits of a NaN included.
func AppendFloat32(dst []byte, v float32) []byte {
	bits := math.Float32bits(v)
	return binary.BigEndian.AppendUint32(append(dst, codeFloat32), bits^flip32(bits))
}

// AppendFloat64 appends a float64, all bits of a NaN included.
func AppendFloat64(dst []byte, v float64) []byte {
	bits := math.Float64bits(v)
	return binary.BigEndian.AppendUint64(append(dst, codeFloat64), bits^flip64(bits))
}

// flip32 returns the bits to flip so that floats sort as unsigned integers: of
// a negative number all, else the sign.
func flip32(bits uint32) uint32 { return uint32(int32(bits)>>31) | 1<<31 }

// flip64 is flip32 for 64 bits.
func flip64(bits uint64) uint64 { return uint64(int64(bits)>>63) | 1<<63 }

// IsNil reports whether b begins with the nil element.
func IsNil(b []byte) bool { return len(b) > 0 && b[0] == codeNil }

// ReadNil steps over the nil element that b begins with.
func ReadNil(b []byte) (rest []byte, err error) {
	if !IsNil(b) {
		return nil, wrongType(b, "nil")
	}
	return b[1:], nil
}

// ReadBool decodes the bool that b begins with.
func ReadBool(b []byte) (v bool, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeFalse && b[0] != codeTrue {
		return false, nil, wrongType(b, "a bool")
	}
	return b[0] == codeTrue, b[1:], nil
}

// ReadUUID decodes the UUID that b begins with.
func ReadUUID(b []byte) (v UUID, rest []byte, err error) {
	if err := readFixed(b, codeUUID, 17); err != nil {
		return UUID{}, nil, err
	}
	return UUID(b[1:17]), b[17:], nil
}

// ReadFloat32 decodes the float32 that b begins with.
func ReadFloat32(b []byte) (v float32, rest []byte, err error) {
	if err := readFixed(b, codeFloat32, 5); err != nil {
		return 0, nil, err
	}
	return float32At(b), b[5:], nil
}

// ReadFloat64 decodes the float64 that b begins with.
func ReadFloat64(b []byte) (v float64, rest []byte, err error) {
	if err := readFixed(b, codeFloat64, 9); err != nil {
		return 0, nil, err
	}
	return float64At(b), b[9:], nil
}

// readFixed checks that b begins with an element of that code and size.
func readFixed(b []byte, code byte, size int) error {
	if len(b) == 0 || b[0] != code {
		return wrongType(b, kindName(code))
	}
	if len(b) < size {
		return tooShort(b, size)
	}
	return nil
}

// float32At decodes a whole packed float32. Packed, a set first bit means a
// positive number, hence the complement.
func float32At(b []byte) float32 {
	packed := binary.BigEndian.Uint32(b[1:])
	return math.Float32frombits(packed ^ flip32(^packed))
}

func float64At(b []byte) float64 {
	packed := binary.BigEndian.Uint64(b[1:])
	return math.Float64frombits(packed ^ flip64(^packed))
}

// Versionstamp is a position in the order of all commits: the ten bytes that
// the database gives to a transaction, and a number that the transaction gives
// to its own writes. Versionstamps sort in the order of commits.
type Versionstamp struct {
	Transaction [10]byte
	User        uint16
}

const (
	stampSize       = 12 // bytes of a packed versionstamp after its code
	stampOffsetSize = 4  // bytes of the offset that a versionstamped key ends with
)

var unknownTransaction = [10]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Incomplete returns a versionstamp with transaction bytes that the database fills
// in when it commits; see [Tuple.PackVersionstamped]. Number the stamps of one
// transaction by user, or they are all the same.
func Incomplete(user uint16) Versionstamp {
	return Versionstamp{Transaction: unknownTransaction, User: user}
}

// IsIncomplete reports whether the transaction bytes are still to be filled in.
func (v Versionstamp) IsIncomplete() bool { return v.Transaction == unknownTransaction }

// String returns the transaction bytes in hex and the user number, like
// Versionstamp(00000102030405060708, 7).
func (v Versionstamp) String() string {
	if v.IsIncomplete() {
		return fmt.Sprintf("Versionstamp(incomplete, %d)", v.User)
	}
	return fmt.Sprintf("Versionstamp(%s, %d)", hex.EncodeToString(v.Transaction[:]), v.User)
}

// AppendVersionstamp appends a versionstamp, incomplete or not. The ten bytes
// that a commit would fill in begin one byte after len(dst).
func AppendVersionstamp(dst []byte, v Versionstamp) []byte {
	dst = append(append(dst, codeVersionstamp), v.Transaction[:]...)
	return binary.BigEndian.AppendUint16(dst, v.User)
}

// ReadVersionstamp decodes the versionstamp that b begins with.
func ReadVersionstamp(b []byte) (v Versionstamp, rest []byte, err error) {
	if err := readFixed(b, codeVersionstamp, 1+stampSize); err != nil {
		return Versionstamp{}, nil, err
	}
	return versionstampAt(b), b[1+stampSize:], nil
}

func versionstampAt(b []byte) Versionstamp {
	return Versionstamp{Transaction: [10]byte(b[1:11]), User: binary.BigEndian.Uint16(b[11:])}
}

// stamps collects the incomplete versionstamps met while packing.
type stamps struct {
	count  int
	offset int // of the last one's transaction bytes
}
