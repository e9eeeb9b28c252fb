// SPDX-License-Identifier: Apache-2.0

package kv

import "encoding/binary"

// MutationType is an atomic operation: a write computed from the value in the
// database at commit, without reading it and so without a read conflict. The
// numbers are FoundationDB's. Operands of arithmetic are little-endian; an
// existing value is cut or zero-extended to the operand's length.
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
	// SetVersionstampedKey sets a key part of which is replaced by the transaction's versionstamp.
	// The key's last four bytes, little-endian, are the offset of the ten-byte placeholder and are cut off.
	SetVersionstampedKey MutationType = 14
	// SetVersionstampedValue does the same to the value.
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
