// SPDX-License-Identifier: Apache-2.0

package tuple

import "testing"

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
