// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
)

// TestAmount adds amounts at random and compares with integers of any size.
func TestAmount(t *testing.T) {
	int64s := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}))
	uint64s := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 63, math.MaxUint64}))
	rapid.Check(t, func(t *rapid.T) {
		sum, want := index.Amount{}, new(big.Int)
		for range rapid.IntRange(0, 6).Draw(t, "operands") {
			a, v := index.IntAmount(int64s.Draw(t, "int")), new(big.Int)
			if rapid.Bool().Draw(t, "unsigned") {
				u := uint64s.Draw(t, "uint")
				a = index.UintAmount(u)
				v.SetUint64(u)
			} else {
				v.Set(a.Big())
			}
			if rapid.Bool().Draw(t, "negate") {
				a, v = a.Negate(), v.Neg(v)
			}
			sum, want = sum.Add(a), want.Add(want, v)
		}
		if sum.String() != want.String() || sum.IsZero() != (want.Sign() == 0) {
			t.Fatalf("the sum is %v, want %v", sum, want)
		}
		if v, fits := sum.Int64(); fits != want.IsInt64() || fits && v != want.Int64() {
			t.Fatalf("%v as an int64: %d, %v", want, v, fits)
		}
		if v, fits := sum.Uint64(); fits != want.IsUint64() || fits && v != want.Uint64() {
			t.Fatalf("%v as a uint64: %d, %v", want, v, fits)
		}
		if back, err := index.ReadAmount(sum.AppendBytes(nil)); err != nil || back != sum {
			t.Fatalf("%v is read back as %v, %v", sum, back, err)
		}
	})
	for _, v := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		if got := index.IntAmount(v).String(); got != big.NewInt(v).String() {
			t.Errorf("IntAmount(%d) = %s", v, got)
		}
	}
	if _, err := index.ReadAmount(make([]byte, 8)); err == nil {
		t.Error("8 bytes were read as a sum")
	}
	if _, err := index.ReadCount(make([]byte, 16)); err == nil {
		t.Error("16 bytes were read as a count")
	}
}
