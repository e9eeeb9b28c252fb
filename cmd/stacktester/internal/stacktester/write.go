// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

var writeOperations = map[string]operation{
	"SET":                     set,
	"CLEAR":                   clearKey,
	"CLEAR_RANGE":             clearRange,
	"CLEAR_RANGE_STARTS_WITH": clearRangeStartsWith,
	"ATOMIC_OP":               atomicOperation,
	"READ_CONFLICT_RANGE":     func(c *call) error { return conflictRange(c, c.tx.AddReadConflictRange) },
	"WRITE_CONFLICT_RANGE":    func(c *call) error { return conflictRange(c, c.tx.AddWriteConflictRange) },
	"READ_CONFLICT_KEY":       func(c *call) error { return conflictKey(c, c.tx.AddReadConflictKey) },
	"WRITE_CONFLICT_KEY":      func(c *call) error { return conflictKey(c, c.tx.AddWriteConflictKey) },
}

func set(c *call) error {
	key, value := c.popBytes(), c.popBytes()
	return c.mutate(func(tx kv.Transaction) { tx.Set(key, value) })
}

func clearKey(c *call) error {
	key := c.popBytes()
	return c.mutate(func(tx kv.Transaction) { tx.Clear(key) })
}

func clearRange(c *call) error {
	r := kv.KeyRange{Begin: c.popBytes(), End: c.popBytes()}
	return c.mutate(func(tx kv.Transaction) { tx.ClearRange(r) })
}

func clearRangeStartsWith(c *call) error {
	r := kv.PrefixRange(c.popBytes())
	return c.mutate(func(tx kv.Transaction) { tx.ClearRange(r) })
}

var mutationTypes = map[string]kv.MutationType{
	"ADD": kv.Add, "AND": kv.BitAnd, "BIT_AND": kv.BitAnd, "OR": kv.BitOr, "BIT_OR": kv.BitOr, "XOR": kv.BitXor, "BIT_XOR": kv.BitXor,
	"APPEND_IF_FITS": kv.AppendIfFits, "MAX": kv.Max, "MIN": kv.Min, "BYTE_MIN": kv.ByteMin, "BYTE_MAX": kv.ByteMax,
	"SET_VERSIONSTAMPED_KEY": kv.SetVersionstampedKey, "SET_VERSIONSTAMPED_VALUE": kv.SetVersionstampedValue,
	"COMPARE_AND_CLEAR": kv.CompareAndClear,
}

func atomicOperation(c *call) error {
	name, key, operand := popAs[string](c), c.popBytes(), c.popBytes()
	mutation, ok := mutationTypes[name]
	if !ok {
		return fmt.Errorf("%q is not an atomic operation", name)
	}
	return c.mutate(func(tx kv.Transaction) { tx.Atomic(mutation, key, operand) })
}

func conflictRange(c *call, add func(kv.KeyRange) error) error {
	r := kv.KeyRange{Begin: c.popBytes(), End: c.popBytes()}
	err := add(r)
	return c.result([]byte("SET_CONFLICT_RANGE"), err)
}

func conflictKey(c *call, add func([]byte) error) error {
	key := c.popBytes()
	err := add(key)
	return c.result([]byte("SET_CONFLICT_KEY"), err)
}
