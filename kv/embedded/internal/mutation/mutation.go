// SPDX-License-Identifier: Apache-2.0

// Package mutation has the writes of a commit: sets, range clears, FoundationDB's
// atomic operations and their results, and the versionstamps that a commit fills
// in. Its functions do not modify their arguments.
package mutation

import (
	"bytes"
	"encoding/binary"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// Mutation is one write of a commit. Under [OpSet] a nil value clears the key.
type Mutation struct {
	Op    kv.MutationType
	Key   []byte
	Value []byte // the end of the range under OpClearRange
}

// The mutations that are not atomic operations, with FoundationDB's numbers.
const (
	OpSet        kv.MutationType = 0
	OpClearRange kv.MutationType = 1
)

// Covers reports whether the mutation writes key.
func (m *Mutation) Covers(key []byte) bool {
	if m.Op == OpClearRange {
		return bytes.Compare(m.Key, key) <= 0 && bytes.Compare(key, m.Value) < 0
	}
	return bytes.Equal(m.Key, key)
}

// NeedsValue reports whether what the mutation comes to depends on the value
// before it.
func (m *Mutation) NeedsValue() bool {
	return !IsIndependent(m.Op) && m.Op != OpClearRange
}

// IsIndependent reports whether the result of an operation on a key does not
// depend on the value before it.
func IsIndependent(op kv.MutationType) bool {
	return op == OpSet || op == kv.SetVersionstampedKey || op == kv.SetVersionstampedValue
}

// StampOffset returns where in b the ten bytes of a versionstamp go, and
// whether they fit. The last four bytes of b are the offset, little-endian.
func StampOffset(b []byte) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	at := int(int32(binary.LittleEndian.Uint32(b[len(b)-4:])))
	return at, at >= 0 && at+kv.VersionstampSize <= len(b)-4
}

// Versionstamp returns the ten bytes of a version and a place in its batch.
func Versionstamp(version int64, index uint16) []byte {
	b := make([]byte, 0, kv.VersionstampSize)
	b = binary.BigEndian.AppendUint64(b, uint64(version))
	return binary.BigEndian.AppendUint16(b, index)
}

// FillStamp returns b with the versionstamp in its place and without the offset.
func FillStamp(b, stamp []byte) []byte {
	at, ok := StampOffset(b)
	if !ok {
		return keys.Own(b[:max(0, len(b)-4)])
	}
	c := keys.Own(b[:len(b)-4])
	copy(c[at:], stamp)
	return c
}

// StampRange returns the keys that a versionstamped key may become, given that
// its version is not below least.
func StampRange(key []byte, least int64, limit []byte) (kv.KeyRange, bool) {
	at, ok := StampOffset(key)
	if !ok {
		return kv.KeyRange{}, false
	}
	begin := keys.Own(key[:len(key)-4])
	copy(begin[at:], Versionstamp(least, 0))
	end := keys.Own(key[:len(key)-4])
	for i := range kv.VersionstampSize {
		end[at+i] = 0xff
	}
	end = keys.OwnedSuccessor(end)
	if string(end) > string(limit) {
		end = limit
	}
	return kv.KeyRange{Begin: begin, End: end}, true
}

// atomic is what the engine knows of an atomic operation.
type atomic struct {
	apply func(old, operand []byte) []byte // see [Apply]
	merge mergeRule
	keeps bool // the result may have all of the old value; else it is no longer than the operand
}

// mergeRule says when two calls of one operation on one key, with operands a and b,
// are one call with the operand that the operation makes of a and b.
type mergeRule uint8

const (
	mergeNever       mergeRule = iota
	mergeEqualLength           // a and b have one length
	mergeAlways
)

// atomics are FoundationDB's atomic operations, and their rules those of its client
// (WriteMap::coalesceOver). One of them surprises: two appends in a row are one, so
// that neither is made where only the first would fit.
var atomics = [...]atomic{
	kv.Add:             {add, mergeEqualLength, false},
	kv.BitAnd:          {bitAnd, mergeAlways, false},
	kv.BitOr:           {bitOr, mergeEqualLength, false},
	kv.BitXor:          {bitXor, mergeEqualLength, false},
	kv.AppendIfFits:    {appendIfFits, mergeAlways, true},
	kv.Max:             {littleMax, mergeEqualLength, false},
	kv.Min:             {littleMin, mergeEqualLength, false},
	kv.ByteMin:         {byteMin, mergeAlways, true},
	kv.ByteMax:         {byteMax, mergeAlways, true},
	kv.CompareAndClear: {compareAndClear, mergeNever, true},

	// The commit puts the versionstamp into the operand, or into the key.
	kv.SetVersionstampedKey:   {replace, mergeAlways, false},
	kv.SetVersionstampedValue: {replace, mergeAlways, false},
}

// IsAtomic reports whether op is one of FoundationDB's atomic operations.
func IsAtomic(op kv.MutationType) bool {
	return op >= 0 && int(op) < len(atomics) && atomics[op].apply != nil
}

// Apply returns the value that an atomic operation makes of old, nil standing for an
// absent key in both. The result may be old or operand itself; neither is
// modified.
func Apply(op kv.MutationType, old, operand []byte) []byte { return atomics[op].apply(old, operand) }

// KeepsValue reports whether what an operation makes of a value may have all of it,
// however short the operand is.
func KeepsValue(op kv.MutationType) bool { return IsAtomic(op) && atomics[op].keeps }

// MostBytes returns how many bytes, at most, an atomic operation makes of an old value
// and an operand of so many.
func MostBytes(op kv.MutationType, old, operand int) int {
	if !KeepsValue(op) {
		return operand
	}
	return min(old+operand, max(old, operand, kv.MaxValueSize))
}

// Merges reports whether an atomic operation with the operand first, and then with
// second, is the operation with the operand Apply(op, first, second).
func Merges(op kv.MutationType, first, second []byte) bool {
	switch atomics[op].merge {
	case mergeAlways:
		return true
	case mergeEqualLength:
		return first == nil || len(first) == len(second)
	}
	return false
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

func bitOr(old, operand []byte) []byte {
	return eachByte(old, operand, func(a, b byte) byte { return a | b })
}

func bitXor(old, operand []byte) []byte {
	return eachByte(old, operand, func(a, b byte) byte { return a ^ b })
}

// eachByte computes each byte by op, where an absent or empty old value counts as
// zeros that op does not change.
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

func byteMin(old, operand []byte) []byte {
	if old != nil && bytes.Compare(old, operand) < 0 {
		return old
	}
	return operand
}

func byteMax(old, operand []byte) []byte {
	if old != nil && bytes.Compare(old, operand) > 0 {
		return old
	}
	return operand
}

func compareAndClear(old, operand []byte) []byte {
	if bytes.Equal(old, operand) {
		return nil
	}
	return old
}

func replace(_, operand []byte) []byte { return operand }

// compareLittle compares little-endian numbers of one length.
func compareLittle(a, b []byte) int {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}
