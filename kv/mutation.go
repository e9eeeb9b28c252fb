// SPDX-License-Identifier: Apache-2.0

package kv

import "encoding/binary"

// MutationType is an atomic operation: the commit computes the new value from the
// stored one. The transaction does not read the value and so has no read conflict.
// The numbers are FoundationDB's. Arithmetic is little-endian; a stored value is
// first cut or zero-extended to the operand's length.
type MutationType int

// The atomic operations.
const (
	// Add adds the operand. An absent value counts as zero.
	Add MutationType = 2
	// BitAnd ands the operand. An absent value becomes the operand.
	BitAnd MutationType = 6
	// BitOr ors the operand. An absent value counts as zero.
	BitOr MutationType = 7
	// BitXor xors the operand. An absent value counts as zero.
	BitXor MutationType = 8
	// AppendIfFits appends the operand, or does nothing if the result would pass MaxValueSize.
	AppendIfFits MutationType = 9
	// Max keeps the larger number. An absent value becomes the operand.
	Max MutationType = 12
	// Min keeps the smaller number. An absent value becomes the operand.
	Min MutationType = 13
	// SetVersionstampedKey sets a pair and puts the transaction's versionstamp into its key. The key's
	// last four bytes, little-endian, are the offset of the stamp's ten bytes; they are cut off.
	SetVersionstampedKey MutationType = 14
	// SetVersionstampedValue puts the versionstamp into the value, whose last four bytes are the offset.
	SetVersionstampedValue MutationType = 15
	// ByteMin keeps the lexicographically smaller value. An absent value becomes the operand.
	ByteMin MutationType = 16
	// ByteMax keeps the lexicographically larger value. An absent value becomes the operand.
	ByteMax MutationType = 17
	// CompareAndClear clears the key if its value equals the operand.
	CompareAndClear MutationType = 20
)

// Int64 returns n as eight little-endian bytes: an operand for [Add], [Max] and [Min].
func Int64(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
