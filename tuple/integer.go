// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// AppendInt appends an integer. Equal integers are equal bytes, whatever Go
// type they came from.
func AppendInt(dst []byte, v int64) []byte {
	if v < 0 {
		return appendMagnitude(dst, 0, uint64(-v), true)
	}
	return appendMagnitude(dst, 0, uint64(v), false)
}

// AppendUint appends an integer.
func AppendUint(dst []byte, v uint64) []byte { return appendMagnitude(dst, 0, v, false) }

// AppendInt128 appends the 128-bit two's complement integer hi<<64 + lo.
func AppendInt128(dst []byte, hi int64, lo uint64) []byte {
	if hi >= 0 {
		return appendMagnitude(dst, uint64(hi), lo, false)
	}
	lo, borrow := bits.Sub64(0, lo, 0)
	high, _ := bits.Sub64(0, uint64(hi), borrow)
	return appendMagnitude(dst, high, lo, true)
}

// appendMagnitude appends ±(hi<<64 + lo): a code that holds sign and length,
// then the magnitude big-endian without leading zeros, complemented if
// negative, so that a larger magnitude sorts first.
func appendMagnitude(dst []byte, hi, lo uint64, negative bool) []byte {
	n := (bits.Len64(lo) + 7) / 8
	if hi != 0 {
		n = 8 + (bits.Len64(hi)+7)/8
	}
	dst = appendIntegerHead(dst, n, negative)
	if negative {
		hi, lo = ^hi, ^lo
	}
	if n > 8 {
		dst = appendLow(dst, hi, n-8)
		n = 8
	}
	return appendLow(dst, lo, n)
}

// appendLow appends the n low bytes of v, big-endian.
func appendLow(dst []byte, v uint64, n int) []byte {
	var all [8]byte
	binary.BigEndian.PutUint64(all[:], v)
	return append(dst, all[8-n:]...)
}

// appendIntegerHead appends what stands before a magnitude of n bytes.
func appendIntegerHead(dst []byte, n int, negative bool) []byte {
	switch {
	case n <= 8 && negative:
		return append(dst, codeZero-byte(n))
	case n <= 8:
		return append(dst, codeZero+byte(n))
	case negative:
		return append(dst, codeBigNegative, ^byte(n))
	}
	return append(dst, codeBigPositive, byte(n))
}

// AppendBigInt appends an integer of up to 255 bytes. It refuses a nil or a
// longer one with an [ErrPack], and then dst is as it was.
func AppendBigInt(dst []byte, v *big.Int) ([]byte, error) {
	out, fail := appendBigInt(dst, v)
	if fail != nil {
		return dst, fail
	}
	return out, nil
}

func appendBigInt(dst []byte, v *big.Int) ([]byte, *encodeError) {
	if v == nil {
		return dst, unpackable(v, "a nil pointer is not an integer; use an untyped nil for the nil element")
	}
	n := (v.BitLen() + 7) / 8
	if n > maxBigIntBytes {
		return dst, unpackable(v, "an integer of %d bytes; at most %d fit", n, maxBigIntBytes)
	}
	dst = appendIntegerHead(dst, n, v.Sign() < 0)
	dst = slices.Grow(dst, n)
	body := v.FillBytes(dst[len(dst) : len(dst)+n])
	if v.Sign() < 0 {
		for i := range body {
			body[i] = ^body[i]
		}
	}
	return dst[:len(dst)+n], nil
}

// ReadInt decodes the integer that b begins with. The error wraps
// [ErrOutOfRange] if an int64 cannot hold it.
func ReadInt(b []byte) (v int64, rest []byte, err error) {
	if v, ok := readEight(b); ok {
		return v, b[9:], nil
	}
	n, err := readInteger(b)
	if err != nil {
		return 0, nil, err
	}
	hi, lo, ok := n.magnitude()
	switch {
	case ok && hi == 0 && !n.negative && lo <= math.MaxInt64:
		return int64(lo), b[n.size:], nil
	case ok && hi == 0 && n.negative && lo <= 1<<63:
		return -int64(lo), b[n.size:], nil
	}
	return 0, nil, fault(b, ErrOutOfRange, "the integer does not fit an int64")
}

// ReadUint decodes the integer that b begins with. The error wraps
// [ErrOutOfRange] if a uint64 cannot hold it.
func ReadUint(b []byte) (v uint64, rest []byte, err error) {
	n, err := readInteger(b)
	if err != nil {
		return 0, nil, err
	}
	hi, lo, ok := n.magnitude()
	if !ok || hi != 0 || n.negative && lo != 0 {
		return 0, nil, fault(b, ErrOutOfRange, "the integer does not fit a uint64")
	}
	return lo, b[n.size:], nil
}

// ReadInt128 decodes the integer that b begins with as 128-bit two's
// complement, hi<<64 + lo. The error wraps [ErrOutOfRange] if that is too small.
func ReadInt128(b []byte) (hi int64, lo uint64, rest []byte, err error) {
	if v, ok := readEight(b); ok {
		return 0, uint64(v), b[9:], nil
	}
	n, err := readInteger(b)
	if err != nil {
		return 0, 0, nil, err
	}
	high, lo, ok := n.magnitude()
	if n.negative {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	zero := high == 0 && lo == 0
	if !ok || (int64(high) < 0) != (n.negative && !zero) {
		return 0, 0, nil, fault(b, ErrOutOfRange, "the integer does not fit 128 bits")
	}
	return int64(high), lo, b[n.size:], nil
}

// ReadBigInt decodes the integer that b begins with, whatever its size.
func ReadBigInt(b []byte) (v *big.Int, rest []byte, err error) {
	n, err := readInteger(b)
	if err != nil {
		return nil, nil, err
	}
	return n.big(), b[n.size:], nil
}

// readEight decodes a positive integer of eight bytes that fits an int64, as ids and times
// are, if b begins with one.
func readEight(b []byte) (v int64, ok bool) {
	if len(b) < 9 || b[0] != codeZero+8 {
		return 0, false
	}
	v = int64(binary.BigEndian.Uint64(b[1:]))
	return v, v >= 0
}

// integer is the frame of a packed integer.
type integer struct {
	body     []byte // magnitude, big-endian, complemented if negative
	negative bool
	size     int // of the whole element
}

func readInteger(b []byte) (integer, error) {
	if len(b) == 0 || b[0] < codeBigNegative || b[0] > codeBigPositive {
		return integer{}, wrongType(b, "an integer")
	}
	n, fail := frameInteger(b)
	if fail != nil {
		return integer{}, fail
	}
	return n, nil
}

// frameInteger cuts out the integer that b begins with.
func frameInteger(b []byte) (integer, *decodeError) {
	code, head := b[0], 1
	negative := code < codeZero
	length := int(code) - codeZero
	if negative {
		length = -length
	}
	if code == codeBigNegative || code == codeBigPositive {
		if len(b) < 2 {
			return integer{}, tooShort(b, 2)
		}
		head, length = 2, int(b[1])
		if negative {
			length = int(^b[1])
		}
	}
	if len(b) < head+length {
		return integer{}, tooShort(b, head+length)
	}
	return integer{b[head : head+length], negative, head + length}, nil
}

// mask is what the bytes of the magnitude were combined with.
func (n integer) mask() byte {
	if n.negative {
		return 0xff
	}
	return 0
}

// magnitude returns hi<<64 + lo, or false if that does not hold it. Leading
// zeros, which no layer writes, are let pass.
func (n integer) magnitude() (hi, lo uint64, ok bool) {
	if len(n.body) <= 8 {
		return 0, n.small(), true
	}
	mask := n.mask()
	for _, c := range n.body {
		if hi>>56 != 0 {
			return 0, 0, false
		}
		hi, lo = hi<<8|lo>>56, lo<<8|uint64(c^mask)
	}
	return hi, lo, true
}

// small is the magnitude of an integer of at most eight bytes.
func (n integer) small() (v uint64) {
	if len(n.body) == 8 {
		v = binary.BigEndian.Uint64(n.body)
	} else {
		for _, c := range n.body {
			v = v<<8 | uint64(c)
		}
	}
	if n.negative {
		v = ^v & (1<<(8*len(n.body)) - 1)
	}
	return v
}

func (n integer) big() *big.Int {
	if !n.negative {
		return new(big.Int).SetBytes(n.body)
	}
	magnitude := make([]byte, len(n.body))
	for i, c := range n.body {
		magnitude[i] = ^c
	}
	v := new(big.Int).SetBytes(magnitude)
	return v.Neg(v)
}

// element returns the integer in the type that the official Go layer chooses:
// int64, else uint64, else [*big.Int]; always the last for the long format, and
// uint64 for a zero of the positive codes, both of which no layer writes.
func (n integer) element(code byte) any {
	if code == codeBigNegative || code == codeBigPositive {
		return n.big()
	}
	_, lo, _ := n.magnitude()
	switch {
	case n.negative && lo > 1<<63:
		return n.big()
	case n.negative:
		return -int64(lo)
	case code != codeZero && int64(lo) <= 0:
		return lo
	}
	return int64(lo)
}
