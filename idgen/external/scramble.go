// SPDX-License-Identifier: Apache-2.0

package external

// plain leaves every value as it is.
type plain struct{}

func (plain) forward(v uint64) uint64  { return v }
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
