// SPDX-License-Identifier: Apache-2.0

package external

import (
	"encoding/binary"
	"math/bits"
)

// Cipher is the block cipher of a [Keyed] codec: 64 bits under a key of 128.
type Cipher int

// String returns "speck64" or "xtea".
func (c Cipher) String() string { return name([]string{"speck64", "xtea"}, int(c), "Cipher") }

// schedule expands a key.
func (c Cipher) schedule(key [16]byte) permutation {
	if c == XTEA {
		return newXTEA(key)
	}
	return newSpeck(key)
}

// speck is the key schedule of Speck64/128. A block's high half is the word x
// of the paper, its low half y.
type speck [27]uint32

// newSpeck reads the key as little-endian words, the first one k0, as the
// authors' "Implementation Guide" (2018) has it.
func newSpeck(key [16]byte) *speck {
	var (
		s speck
		k = binary.LittleEndian.Uint32(key[:])
		l = [3]uint32{
			binary.LittleEndian.Uint32(key[4:]),
			binary.LittleEndian.Uint32(key[8:]),
			binary.LittleEndian.Uint32(key[12:]),
		}
	)
	for i := range s {
		s[i] = k
		l[i%3], k = speckRound(l[i%3], k, uint32(i))
	}
	return &s
}

// speckRound is the round function, which also makes the schedule.
func speckRound(x, y, k uint32) (uint32, uint32) {
	x = (bits.RotateLeft32(x, -8) + y) ^ k
	return x, bits.RotateLeft32(y, 3) ^ x
}

func (s *speck) forward(v uint64) uint64 {
	x, y := uint32(v>>32), uint32(v)
	for _, k := range s {
		x, y = speckRound(x, y, k)
	}
	return uint64(x)<<32 | uint64(y)
}

func (s *speck) backward(v uint64) uint64 {
	x, y := uint32(v>>32), uint32(v)
	for i := len(s) - 1; i >= 0; i-- {
		y = bits.RotateLeft32(x^y, -3)
		x = bits.RotateLeft32((x^s[i])-y, 8)
	}
	return uint64(x)<<32 | uint64(y)
}

// xtea holds, for each of the 64 rounds, the sum and the word of the key that
// go into it.
type xtea [64]uint32

// newXTEA reads the key as big-endian words, as published test vectors do.
func newXTEA(key [16]byte) *xtea {
	const delta = 0x9E3779B9 // 2^32 over the golden ratio
	var (
		x   xtea
		k   [4]uint32
		sum uint32
	)
	for i := range k {
		k[i] = binary.BigEndian.Uint32(key[4*i:])
	}
	for i := 0; i < len(x); i += 2 {
		x[i] = sum + k[sum&3]
		sum += delta
		x[i+1] = sum + k[sum>>11&3]
	}
	return &x
}

func (x *xtea) forward(v uint64) uint64 {
	v0, v1 := uint32(v>>32), uint32(v)
	for i := 0; i < len(x); i += 2 {
		v0 += xteaMix(v1) ^ x[i]
		v1 += xteaMix(v0) ^ x[i+1]
	}
	return uint64(v0)<<32 | uint64(v1)
}

func (x *xtea) backward(v uint64) uint64 {
	v0, v1 := uint32(v>>32), uint32(v)
	for i := len(x) - 2; i >= 0; i -= 2 {
		v1 -= xteaMix(v0) ^ x[i+1]
		v0 -= xteaMix(v1) ^ x[i]
	}
	return uint64(v0)<<32 | uint64(v1)
}

func xteaMix(v uint32) uint32 { return (v<<4 ^ v>>5) + v }

// plain leaves every value as it is.
type plain struct{}

func (plain) forward(v uint64) uint64 { return v }

func (plain) backward(v uint64) uint64 { return v }

// scramble is the moremur mixer, Pelle Evensen's choice of shifts and factors
// for three xorshifts with two multiplications between them (2019). Each input
// bit changes about half of the output bits. A multiplication by an odd number
// has an inverse modulo 2^64, a xorshift has one too.
type scramble struct{}

const (
	shift1, shift2, shift3 = 27, 33, 27

	factor1, inverse1 uint64 = 0x3C79AC492BA7B653, 0xC09C5FE5BD6DFDDB
	factor2, inverse2 uint64 = 0x1C69B3F74AC4AE35, 0xC47C8F6B6BAFB41D
)

func (scramble) forward(v uint64) uint64 {
	v = (v ^ v>>shift1) * factor1
	v = (v ^ v>>shift2) * factor2
	return v ^ v>>shift3
}

func (scramble) backward(v uint64) uint64 {
	v = (v ^ v>>shift3 ^ v>>(2*shift3)) * inverse2
	v = (v ^ v>>shift2) * inverse1 // a shift by half of the bits or more undoes itself
	return v ^ v>>shift1 ^ v>>(2*shift1)
}
