// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"encoding/binary"
	"encoding/hex"
	"math"
)

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
