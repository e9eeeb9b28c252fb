// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"math/big"
	"testing"
)

// The key of an index entry: what a store packs and unpacks most.
var benchTuple = Tuple{"I", "Order_Status_CreatedAt", int64(2), int64(1_700_000_000_123_456_789), int64(7_301_444_403_200_000_001)}

func BenchmarkPack(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := benchTuple.Pack(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTupleAppend(b *testing.B) {
	b.ReportAllocs()
	buffer := make([]byte, 0, 128)
	for b.Loop() {
		var err error
		if buffer, err = benchTuple.Append(buffer[:0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendTyped(b *testing.B) {
	b.ReportAllocs()
	buffer := make([]byte, 0, 128)
	for b.Loop() {
		buffer = AppendString(AppendString(buffer[:0], "I"), "Order_Status_CreatedAt")
		buffer = AppendInt(AppendInt(AppendInt(buffer, 2), 1_700_000_000_123_456_789), 7_301_444_403_200_000_001)
	}
	b.SetBytes(int64(len(buffer)))
}

func BenchmarkUnpack(b *testing.B) {
	packed := benchTuple.MustPack()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSkipThenReadInt(b *testing.B) {
	packed := benchTuple.MustPack()
	b.ReportAllocs()
	for b.Loop() {
		rest := packed
		for range len(benchTuple) - 1 {
			rest, _ = Skip(rest)
		}
		if _, _, err := ReadInt(rest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendInt(b *testing.B) {
	buffer := make([]byte, 0, 16)
	for b.Loop() {
		buffer = AppendInt(buffer[:0], 7_301_444_403_200_000_001)
	}
}

func BenchmarkReadInt(b *testing.B) {
	packed := AppendInt(nil, 7_301_444_403_200_000_001)
	for b.Loop() {
		if _, _, err := ReadInt(packed); err != nil {
			b.Fatal(err)
		}
	}
}

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
