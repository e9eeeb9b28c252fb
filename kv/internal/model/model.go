// SPDX-License-Identifier: Apache-2.0

// Package model is a database as a sorted map, which defines the results of reads
// and writes for checks that compare an engine with it.
package model

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Absent is what get answers for a key that is not there.
const Absent = "‹absent›"

func Texts(pairs []kv.KeyValue) []string {
	texts := []string{}
	for _, pair := range pairs {
		texts = append(texts, fmt.Sprintf("%s=%s", pair.Key, pair.Value))
	}
	return texts
}

// Span is the range from one key to another.
func Span(from, to string) kv.KeyRange { return kv.KeyRange{Begin: []byte(from), End: []byte(to)} }

// Model is a database as a sorted map: the naive meaning of every call.
type Model map[string]string

func (m Model) Keys() []string { return slices.Sorted(maps.Keys(m)) }

// Position is the index of the key that a selector names, or one outside.
func (m Model) Position(sel kv.KeySelector) int {
	keys := m.Keys()
	at, exact := slices.BinarySearch(keys, string(sel.Key))
	if !exact || !sel.OrEqual {
		at-- // the last key less than sel.Key
	}
	return at + sel.Offset
}

func (m Model) Key(sel kv.KeySelector) string {
	keys, at := m.Keys(), m.Position(sel)
	switch {
	case at < 0:
		return ""
	case at >= len(keys):
		return "\xff"
	}
	return keys[at]
}

func (m Model) Scan(r kv.SelectorRange, o kv.RangeOptions) []string {
	keys := m.Keys()
	bound := func(sel kv.KeySelector) int { return min(max(m.Position(sel), 0), len(keys)) }
	from, to := bound(r.Begin), bound(r.End)
	texts := []string{}
	for _, k := range keys[from:max(from, to)] {
		texts = append(texts, k+"="+m[k])
	}
	if o.Reverse {
		slices.Reverse(texts)
	}
	if o.Limit > 0 && o.Limit < len(texts) {
		texts = texts[:o.Limit]
	}
	return texts
}

func (m Model) ClearRange(r kv.KeyRange) {
	maps.DeleteFunc(m, func(k, _ string) bool { return k >= string(r.Begin) && k < string(r.End) })
}

func UserKeys() kv.KeyRange { return kv.KeyRange{Begin: []byte{}, End: []byte{0xff}} }

// atomics are the atomic operations without a versionstamp: what each makes of a
// value, nil standing for no value in both. They share no code with the engine's.
var atomics = map[kv.MutationType]func(old, operand []byte) []byte{
	kv.Add:          arithmetic((*big.Int).Add),
	kv.BitAnd:       onValue(arithmetic((*big.Int).And)),
	kv.BitOr:        arithmetic((*big.Int).Or),
	kv.BitXor:       arithmetic((*big.Int).Xor),
	kv.AppendIfFits: appendIfFits,
	kv.Max:          onValue(arithmetic(func(_, a, b *big.Int) *big.Int { return pick(a, b, a.Cmp(b) > 0) })),
	kv.Min:          onValue(arithmetic(func(_, a, b *big.Int) *big.Int { return pick(a, b, a.Cmp(b) < 0) })),
	kv.ByteMin:      onValue(func(old, operand []byte) []byte { return pick(old, operand, bytes.Compare(old, operand) < 0) }),
	kv.ByteMax:      onValue(func(old, operand []byte) []byte { return pick(old, operand, bytes.Compare(old, operand) > 0) }),
	kv.CompareAndClear: func(old, operand []byte) []byte {
		return pick(nil, old, bytes.Equal(old, operand))
	},
}

// Operations are the atomic operations without a versionstamp, in order.
func Operations() []kv.MutationType { return slices.Sorted(maps.Keys(atomics)) }

// Atomic applies one of the [Operations].
func (m Model) Atomic(op kv.MutationType, key string, operand []byte) {
	apply := atomics[op]
	if apply == nil {
		panic(fmt.Sprintf("model: there is no operation %d", op))
	}
	var old []byte
	if text, present := m[key]; present {
		old = append([]byte{}, text...)
	}
	if value := apply(old, append([]byte{}, operand...)); value != nil {
		m[key] = string(value)
	} else {
		delete(m, key)
	}
}

func pick[T any](a, b T, first bool) T {
	if first {
		return a
	}
	return b
}

// onValue returns an operation that makes the operand of an absent value.
func onValue(apply func(old, operand []byte) []byte) func(old, operand []byte) []byte {
	return func(old, operand []byte) []byte {
		if old == nil {
			return operand
		}
		return apply(old, operand)
	}
}

// arithmetic returns the operation that computes little-endian numbers of the
// operand's length; compute may use its first argument for the result.
func arithmetic(compute func(result, a, b *big.Int) *big.Int) func(old, operand []byte) []byte {
	return func(old, operand []byte) []byte {
		size := len(operand)
		result := compute(new(big.Int), number(old, size), number(operand, size))
		out := result.Mod(result, new(big.Int).Lsh(big.NewInt(1), uint(8*size))).FillBytes(make([]byte, size))
		slices.Reverse(out)
		return out
	}
}

// number reads little-endian bytes, cut or extended to size.
func number(b []byte, size int) *big.Int {
	digits := make([]byte, size)
	copy(digits, b)
	slices.Reverse(digits)
	return new(big.Int).SetBytes(digits)
}

func appendIfFits(old, operand []byte) []byte {
	if len(old)+len(operand) > kv.MaxValueSize {
		return old
	}
	return append(append([]byte{}, old...), operand...)
}
