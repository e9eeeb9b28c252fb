// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"math/big"
	"testing"
)

// TestNoAllocations holds that packing into a buffer with room, skipping and
// reading what needs no memory of its own allocate nothing.
func TestNoAllocations(t *testing.T) {
	var (
		buffer  = make([]byte, 0, 1024)
		content = []byte("zero\x00inside")
		huge    = new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(5), 500))
		small   = big.NewInt(-77)
		nested  = Tuple{nil, "x\x00y", int64(1 << 40), Tuple{2.5, content, huge}, UUID{9}, Versionstamp{User: 1}}
		packed  = append(nested.MustPack(), AppendInt128(AppendInt(nil, -5), -1, 3)...)
		users   = NewSubspace([]byte("prefix")).Sub("R", "User")
		key     = append(users.Bytes(), AppendInt(nil, 123456)...)
		err     error
		n       int64
	)
	tests := map[string]func(){
		"AppendNil":          func() { buffer = AppendNil(buffer[:0]) },
		"AppendBytes":        func() { buffer = AppendBytes(buffer[:0], content) },
		"AppendString":       func() { buffer = AppendString(buffer[:0], "zero\x00inside") },
		"AppendInt":          func() { buffer = AppendInt(buffer[:0], -1<<40) },
		"AppendUint":         func() { buffer = AppendUint(buffer[:0], 1<<63) },
		"AppendInt128":       func() { buffer = AppendInt128(buffer[:0], -5, 7) },
		"AppendBigInt":       func() { buffer, err = AppendBigInt(buffer[:0], huge) },
		"AppendBigInt small": func() { buffer, err = AppendBigInt(buffer[:0], small) },
		"AppendFloat32":      func() { buffer = AppendFloat32(buffer[:0], -1.5) },
		"AppendFloat64":      func() { buffer = AppendFloat64(buffer[:0], -1.5) },
		"AppendBool":         func() { buffer = AppendBool(buffer[:0], true) },
		"AppendUUID":         func() { buffer = AppendUUID(buffer[:0], UUID{1}) },
		"AppendVersionstamp": func() { buffer = AppendVersionstamp(buffer[:0], Incomplete(4)) },
		"AppendTuple":        func() { buffer, err = AppendTuple(buffer[:0], nested) },
		"Tuple.Append":       func() { buffer, err = nested.Append(buffer[:0]) },
		"Subspace.AppendTo":  func() { buffer = users.AppendTo(buffer[:0]) },
		"Skip":               func() { err = skipAll(packed) },
		"Subspace and ReadInt": func() {
			var rest []byte
			if rest, err = users.Strip(key); err == nil {
				n, _, err = ReadInt(rest)
			}
		},
		"Compare": func() { n = int64(Compare(nested, nested)) },
	}
	for name, run := range tests {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, run); got != 0 {
				t.Errorf("%v allocations a run, want none", got)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	_ = n
}

func skipAll(packed []byte) (err error) {
	for len(packed) > 0 && err == nil {
		packed, err = Skip(packed)
	}
	return err
}
