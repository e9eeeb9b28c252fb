// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestTimeIsNanosecondsSince1970 compares with arithmetic of any precision.
func TestTimeIsNanosecondsSince1970(t *testing.T) {
	for _, v := range []time.Time{
		{},
		time.Unix(0, 0), time.Unix(0, -1), time.Unix(-1, 0), time.Unix(1<<40, 5), time.Unix(-1<<40, 999_999_999),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 1, time.UTC),
		time.Unix(math.MaxInt64/1_000_000_000, 854_775_807), time.Unix(math.MaxInt64/1_000_000_000, 854_775_808),
	} {
		nanos := new(big.Int).Mul(big.NewInt(v.Unix()), big.NewInt(1_000_000_000))
		nanos.Add(nanos, big.NewInt(int64(v.Nanosecond())))
		want, err := tuple.AppendBigInt(nil, nanos)
		if err != nil {
			t.Fatal(err)
		}
		if got := index.AppendTime(nil, v); !bytes.Equal(got, want) {
			t.Errorf("AppendTime(%v) = %x, want %x", v, got, want)
		}
	}
}

// TestFloatsThatAreEqual compares the keys of floats that are one value: both zeros, and
// every NaN. The division 0/0 makes a NaN with its sign set on amd64, and another one on
// arm64.
func TestFloatsThatAreEqual(t *testing.T) {
	infinity := index.AppendFloat64(nil, math.Inf(1))
	infinity32 := index.AppendFloat32(nil, float32(math.Inf(1)))
	nan := index.AppendFloat64(nil, math.NaN())
	nan32 := index.AppendFloat32(nil, float32(math.NaN()))
	if !bytes.Equal(nan, tuple.AppendFloat64(nil, math.NaN())) || !bytes.Equal(nan32, tuple.AppendFloat32(nil, float32(math.NaN()))) {
		t.Error("the key of math.NaN() is another one than before: stored entries are not found")
	}
	if bytes.Compare(nan, infinity) <= 0 || bytes.Compare(nan32, infinity32) <= 0 {
		t.Error("NaN does not sort last")
	}
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.Uint64().Draw(t, "bits")
		v, v32 := math.Float64frombits(bits|0x7ff8<<48), math.Float32frombits(uint32(bits>>32)|0x7fc<<20)
		if got := index.AppendFloat64(nil, v); !bytes.Equal(got, nan) {
			t.Errorf("the key of the NaN %x is %x, want %x", math.Float64bits(v), got, nan)
		}
		if got := index.AppendFloat32(nil, v32); !bytes.Equal(got, nan32) {
			t.Errorf("the key of the NaN %x is %x, want %x", math.Float32bits(v32), got, nan32)
		}
	})
	if !bytes.Equal(index.AppendFloat64(nil, math.Copysign(0, -1)), index.AppendFloat64(nil, 0.0)) {
		t.Error("the keys of -0 and 0 differ")
	}
	if !bytes.Equal(index.AppendFloat32(nil, float32(math.Copysign(0, -1))), index.AppendFloat32(nil, float32(0))) {
		t.Error("the keys of -0 and 0 differ as float32")
	}
}

// TestReadTime reads back times of all ages.
func TestReadTime(t *testing.T) {
	for _, seconds := range []int64{math.MinInt64, math.MinInt64 + 1, -62135596800, -1, 0, 1, 1 << 40, math.MaxInt64} {
		for _, nanos := range []int64{0, 1, 999_999_999} {
			want := time.Unix(seconds, nanos).UTC()
			got, rest, err := index.ReadTime(tuple.AppendString(index.AppendTime(nil, want), "x"))
			if err != nil || !got.Equal(want) || got != want || string(rest) != string(tuple.AppendString(nil, "x")) {
				t.Errorf("%d.%09d: read %v, %v, want %v", seconds, nanos, got, err, want)
			}
		}
	}
	for _, b := range [][]byte{tuple.AppendInt128(nil, math.MaxInt64, 0), tuple.AppendInt128(nil, math.MinInt64, 0), tuple.AppendInt128(nil, 999_999_999, math.MaxUint64)} {
		if v, _, err := index.ReadTime(b); err == nil {
			t.Errorf("ReadTime(%s) = %v", tuple.Describe(b), v)
		}
	}
}

// elements draws tuple elements of all kinds that keys have, short and close to each
// other, so that one often begins with another.
func elements() *rapid.Generator[[]byte] {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("\x00\x01a\u00ff")), 0, 4, -1)
	return rapid.OneOf(
		rapid.Just(tuple.AppendNil(nil)),
		rapid.Map(text, func(v string) []byte { return tuple.AppendString(nil, v) }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff}), 0, 4), func(v []byte) []byte { return tuple.AppendBytes(nil, v) }),
		rapid.Map(rapid.Int64(), func(v int64) []byte { return tuple.AppendInt(nil, v) }),
		rapid.Map(rapid.Int64(), func(v int64) []byte { return index.AppendTime(nil, time.Unix(v>>8, v&0xff)) }),
		rapid.Map(rapid.Float64(), func(v float64) []byte { return index.AppendFloat64(nil, v) }),
		rapid.Map(rapid.Bool(), func(v bool) []byte { return tuple.AppendBool(nil, v) }),
	)
}

// checkDescend checks order and reading back for two elements, with whatever follows
// them in their keys.
func checkDescend(t rapid.TB, a, b, behindA, behindB []byte) {
	t.Helper()
	prefix := []byte("prefix")
	x := append(index.Descend(append(prefix[:len(prefix):len(prefix)], a...), len(prefix)), behindA...)
	y := append(index.Descend(append(prefix[:len(prefix):len(prefix)], b...), len(prefix)), behindB...)
	if got, want := bytes.Compare(x, y), -bytes.Compare(a, b); want != 0 && got != want {
		t.Fatalf("%x and %x compare %d, the elements %x and %x descended, %x and %x, %d", a, b, -want, a, b, x, y, got)
	}
	read, rest, err := index.ReadDescended([]byte("before"), x[len(prefix):])
	if err != nil || string(read) != "before"+string(a) || !bytes.Equal(rest, behindA) {
		t.Fatalf("%x descended is read as %x, rest %x, %v", a, read, rest, err)
	}
	if rest, err := tuple.Skip(x[len(prefix):]); err != nil || !bytes.Equal(rest, behindA) {
		t.Fatalf("%x descended is no element: %v", a, err)
	}
}

func TestDescendTurnsTheOrderRound(t *testing.T) {
	element := elements()
	rapid.Check(t, func(t *rapid.T) {
		checkDescend(t, element.Draw(t, "a"), element.Draw(t, "b"), element.Draw(t, "behind a"), element.Draw(t, "behind b"))
	})
}

// FuzzDescend checks every pair of elements that tuples can have.
func FuzzDescend(f *testing.F) {
	f.Add([]byte("\x02a\x00"), []byte("\x02a\x00\xffb\x00"))
	f.Add([]byte{0}, []byte("\x01\xff\xff\x00"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, v := range [][]byte{a, b} {
			// An element that is nested, or is not written so by package tuple, has no order.
			decoded, err := tuple.Unpack(v)
			if err != nil || len(decoded) != 1 {
				return
			}
			if _, nested := decoded[0].(tuple.Tuple); nested {
				return
			}
			if packed, err := decoded.Pack(); err != nil || !bytes.Equal(packed, v) {
				return
			}
		}
		checkDescend(t, a, b, []byte{0x15, 1}, []byte{0x00})
	})
}

// FuzzReadDescended reads whatever bytes: what it accepts is what Descend writes.
func FuzzReadDescended(f *testing.F) {
	f.Add(index.Descend([]byte("\x02a\x00"), 0))
	f.Add([]byte("\x01\xfd\x9e\xff\xff\x00"))
	f.Add([]byte{0x01, 0x00})
	f.Add([]byte("\x01\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		element, rest, err := index.ReadDescended(nil, b)
		if err != nil {
			return
		}
		if again := append(index.Descend(bytes.Clone(element), 0), rest...); !bytes.Equal(again, b) {
			t.Errorf("%x is read as %x, which descends to %x", b, element, again)
		}
	})
}

func TestDescendBoundary(t *testing.T) {
	// Room that is exactly as large as it must be, and no allocation where there is room.
	buf := make([]byte, 0, 256)
	var at time.Time
	if n := testing.AllocsPerRun(100, func() {
		k := tuple.AppendString(buf, "a\xff\xff\x00")
		k = index.Descend(k, 0)
		n := len(k)
		index.Descend(index.AppendTime(k, at), n)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if a, b := index.Descend(tuple.AppendInt(nil, 1), 0), index.Descend(tuple.AppendInt(nil, 2), 0); bytes.Compare(a, b) <= 0 {
		t.Errorf("1 is %x and 2 is %x in descending order", a, b)
	}
	if null, text := index.Descend(tuple.AppendNil(nil), 0), index.Descend(tuple.AppendString(nil, ""), 0); bytes.Compare(null, text) <= 0 {
		t.Error("null is not the last in descending order")
	}
}

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
