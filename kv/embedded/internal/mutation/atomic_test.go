// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"bytes"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// shortValues are all values of up to so many of these bytes, and nil.
func shortValues(most int, of ...byte) [][]byte {
	all := [][]byte{nil, {}}
	for n, last := 1, [][]byte{{}}; n <= most; n++ {
		var longer [][]byte
		for _, v := range last {
			for _, b := range of {
				longer = append(longer, append(slices.Clone(v), b))
			}
		}
		all, last = append(all, longer...), longer
	}
	return all
}

// TestMerges compares two calls of an operation with the one that they are merged to,
// on every value.
func TestMerges(t *testing.T) {
	values := shortValues(3, 0x00, 0x01, 0xff)
	operands := shortValues(2, 0x00, 0x01, 0x80, 0xff)[1:]
	for op := range kv.MutationType(len(atomics)) {
		if !IsAtomic(op) {
			continue
		}
		merged := 0
		for _, first := range operands {
			for _, second := range operands {
				if !Merges(op, first, second) {
					continue
				}
				merged++
				both := Apply(op, first, second)
				for _, old := range values {
					want, got := Apply(op, Apply(op, old, first), second), Apply(op, old, both)
					if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
						t.Fatalf("operation %d with %q, then %q, on %q: merged %q, one by one %q", op, first, second, old, got, want)
					}
				}
			}
		}
		if rule := atomics[op].merge; (merged > 0) != (rule != mergeNever) {
			t.Errorf("operation %d was merged %d times", op, merged)
		}
	}
}

// TestMostBytes compares the size of every result with the one that is promised.
func TestMostBytes(t *testing.T) {
	values := append(shortValues(3, 0x00, 0xff), make([]byte, kv.MaxValueSize-1), make([]byte, kv.MaxValueSize))
	for op := range kv.MutationType(len(atomics)) {
		if !IsAtomic(op) {
			continue
		}
		kept := false
		for _, old := range values {
			for _, operand := range values[1:] {
				size := len(Apply(op, old, operand))
				if most := MostBytes(op, len(old), len(operand)); size > most {
					t.Errorf("operation %d on %d bytes with %d: %d bytes, want at most %d", op, len(old), len(operand), size, most)
				}
				kept = kept || size > len(operand)
			}
		}
		if kept != KeepsValue(op) {
			t.Errorf("operation %d has results longer than the operand: %t", op, kept)
		}
	}
}

// TestApplyModifiesNothing calls each operation with an old value and an operand that
// have room after them.
func TestApplyModifiesNothing(t *testing.T) {
	for op := range kv.MutationType(len(atomics)) {
		if !IsAtomic(op) {
			continue
		}
		old, operand := []byte("\x0f\xf0rest"), []byte("\xf1\x1frest")
		result := Apply(op, old[:2], operand[:2])
		_ = append(slices.Clip(result), "more"...)
		if string(old) != "\x0f\xf0rest" || string(operand) != "\xf1\x1frest" {
			t.Errorf("operation %d has changed what it was given to %q and %q", op, old, operand)
		}
	}
}

func TestUnknownOperations(t *testing.T) {
	for _, op := range []kv.MutationType{-1, OpSet, OpClearRange, 3, 18, 21, 99} {
		if IsAtomic(op) {
			t.Errorf("%d is an atomic operation", op)
		}
	}
}
