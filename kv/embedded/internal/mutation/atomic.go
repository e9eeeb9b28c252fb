// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// IsAtomic reports whether op is one of FoundationDB's atomic operations.
func IsAtomic(op kv.MutationType) bool {
	switch op {
	case kv.Add, kv.BitAnd, kv.BitOr, kv.BitXor, kv.AppendIfFits, kv.Max, kv.Min,
		kv.SetVersionstampedKey, kv.SetVersionstampedValue, kv.ByteMin, kv.ByteMax, kv.CompareAndClear:
		return true
	}
	return false
}

// Apply returns the value that op makes of old, nil standing for an
// absent key in both. The result may be old or operand itself; neither is
// modified.
func Apply(op kv.MutationType, old, operand []byte) []byte {
	switch op {
	case kv.Add:
		return add(old, operand)
	case kv.BitAnd:
		return bitAnd(old, operand)
	case kv.BitOr:
		return eachByte(old, operand, func(a, b byte) byte { return a | b })
	case kv.BitXor:
		return eachByte(old, operand, func(a, b byte) byte { return a ^ b })
	case kv.AppendIfFits:
		return appendIfFits(old, operand)
	case kv.Max:
		return littleMax(old, operand)
	case kv.Min:
		return littleMin(old, operand)
	case kv.ByteMin:
		if old != nil && bytes.Compare(old, operand) < 0 {
			return old
		}
	case kv.ByteMax:
		if old != nil && bytes.Compare(old, operand) > 0 {
			return old
		}
	case kv.CompareAndClear:
		if old == nil || bytes.Equal(old, operand) {
			return nil
		}
		return old
	}
	return operand
}

// fit returns a copy of old cut or zero-extended to n bytes.
func fit(old []byte, n int) []byte {
	value := make([]byte, n)
	copy(value, old)
	return value
}

// add adds little-endian numbers of the operand's length, dropping the carry.
func add(old, operand []byte) []byte {
	if len(old) == 0 || len(operand) == 0 {
		return operand
	}
	sum := fit(old, len(operand))
	carry := 0
	for i, b := range operand {
		carry += int(sum[i]) + int(b)
		sum[i] = byte(carry)
		carry >>= 8
	}
	return sum
}

func bitAnd(old, operand []byte) []byte {
	if old == nil || len(operand) == 0 {
		return operand
	}
	value := fit(old, len(operand))
	for i, b := range operand {
		value[i] &= b
	}
	return value
}

func eachByte(old, operand []byte, op func(a, b byte) byte) []byte {
	if len(old) == 0 || len(operand) == 0 {
		return operand
	}
	value := fit(old, len(operand))
	for i, b := range operand {
		value[i] = op(value[i], b)
	}
	return value
}

func appendIfFits(old, operand []byte) []byte {
	switch {
	case len(old) == 0:
		return operand
	case len(operand) == 0, len(old)+len(operand) > kv.MaxValueSize:
		return old
	}
	return append(old[:len(old):len(old)], operand...)
}

func littleMax(old, operand []byte) []byte {
	if len(old) == 0 || len(operand) == 0 {
		return operand
	}
	if cut := fit(old, len(operand)); compareLittle(cut, operand) > 0 {
		return cut
	}
	return operand
}

func littleMin(old, operand []byte) []byte {
	if old == nil || len(operand) == 0 {
		return operand
	}
	if cut := fit(old, len(operand)); compareLittle(cut, operand) < 0 {
		return cut
	}
	return operand
}

// compareLittle compares little-endian numbers of one length.
func compareLittle(a, b []byte) int {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}
