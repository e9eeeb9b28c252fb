// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"math/big"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

func atomicResult(op kv.MutationType, old []byte, present bool, operand []byte) []byte {
	switch op {
	case kv.AppendIfFits:
		if len(old)+len(operand) > kv.MaxValueSize {
			return old
		}
		return slices.Concat(old, operand)
	case kv.ByteMax, kv.ByteMin:
		if present && (bytes.Compare(old, operand) > 0) == (op == kv.ByteMax) {
			return old
		}
		return operand
	case kv.BitAnd, kv.Max, kv.Min:
		if !present {
			return operand
		}
	}
	return arithmetic(op, number(old, len(operand)), number(operand, len(operand)), len(operand))
}

// arithmetic computes with numbers of so many bytes.
func arithmetic(op kv.MutationType, a, b *big.Int, size int) []byte {
	result := new(big.Int)
	switch op {
	case kv.Add:
		result.Add(a, b)
	case kv.BitAnd:
		result.And(a, b)
	case kv.BitOr:
		result.Or(a, b)
	case kv.BitXor:
		result.Xor(a, b)
	case kv.Max, kv.Min:
		result = b
		if (a.Cmp(b) > 0) == (op == kv.Max) {
			result = a
		}
	}
	out := result.Mod(result, new(big.Int).Lsh(big.NewInt(1), uint(8*size))).FillBytes(make([]byte, size))
	slices.Reverse(out)
	return out
}

// number reads little-endian bytes, cut or extended to size.
func number(b []byte, size int) *big.Int {
	digits := make([]byte, size)
	copy(digits, b)
	slices.Reverse(digits)
	return new(big.Int).SetBytes(digits)
}
