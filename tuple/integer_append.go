// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"encoding/binary"
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
// longer one with an [*EncodeError], and then dst is as it was.
func AppendBigInt(dst []byte, v *big.Int) ([]byte, error) {
	out, fail := appendBigInt(dst, v)
	if fail != nil {
		return dst, fail
	}
	return out, nil
}

func appendBigInt(dst []byte, v *big.Int) ([]byte, *EncodeError) {
	if v == nil {
		return dst, unpackable(v, "a nil pointer is no integer; use an untyped nil for the nil element")
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
