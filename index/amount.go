// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
)

// Amount is what a record adds to a sum, or the sum: an integer of 128 bits, so
// that no number of records with integers of 64 bits makes it wrap around. The zero
// value is 0.
type Amount struct {
	hi int64
	lo uint64
}

// AmountSize is the length of a stored amount in bytes.
const AmountSize = 16

// IntAmount returns the amount v. A time.Duration is its nanoseconds.
func IntAmount(v int64) Amount { return Amount{v >> 63, uint64(v)} }

// UintAmount returns the amount v.
func UintAmount(v uint64) Amount { return Amount{0, v} }

// ReadAmount reads a stored amount. No bytes, as a key that is not there has, are 0.
func ReadAmount(value []byte) (Amount, error) {
	switch len(value) {
	case 0:
		return Amount{}, nil
	case AmountSize:
		return Amount{int64(binary.LittleEndian.Uint64(value[8:])), binary.LittleEndian.Uint64(value)}, nil
	}
	return Amount{}, fmt.Errorf("index: a sum has %d bytes, want %d", len(value), AmountSize)
}

// AppendBytes appends the stored form: 16 bytes, little-endian, two's complement. The
// engine adds two such numbers by its atomic operation Add.
func (a Amount) AppendBytes(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, a.lo)
	return binary.LittleEndian.AppendUint64(dst, uint64(a.hi))
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return Amount{a.hi + b.hi + int64(carry), lo}
}

// Negate returns the amount with the opposite sign.
func (a Amount) Negate() Amount {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	return Amount{-a.hi - int64(borrow), lo}
}

// IsZero reports whether the amount is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Int64 returns the amount, and whether it fits.
func (a Amount) Int64() (v int64, fits bool) { return int64(a.lo), a.hi == int64(a.lo)>>63 }

// Uint64 returns the amount, and whether it fits.
func (a Amount) Uint64() (v uint64, fits bool) { return a.lo, a.hi == 0 }

// Big returns the amount as an integer of any size.
func (a Amount) Big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.lo))
}

// String returns the amount in decimal.
func (a Amount) String() string { return a.Big().String() }
