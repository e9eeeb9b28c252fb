// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

type level int8

// ordered checks that enc keeps the order of a and b.
func ordered[T any](t *rapid.T, a, b T, compare func(a, b T) int, enc func([]byte, T) []byte) {
	t.Helper()
	if got, want := bytes.Compare(enc(nil, a), enc(nil, b)), compare(a, b); got != want {
		t.Fatalf("the keys of %v and %v compare %d, the values %d", a, b, got, want)
	}
}

func TestKeysKeepTheOrderOfValues(t *testing.T) {
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		seconds := rapid.OneOf(rapid.Int64Range(-3, 3), rapid.Int64Range(-1<<62, 1<<62), rapid.Int64Range(-1<<34, 1<<34)).Draw(t, "seconds")
		return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
	})
	float := rapid.Float64()
	rapid.Check(t, func(t *rapid.T) {
		ordered(t, instant.Draw(t, "a"), instant.Draw(t, "b"), time.Time.Compare, index.AppendTime)
		ordered(t, rapid.Int8().Draw(t, "a"), rapid.Int8().Draw(t, "b"), cmp.Compare[int8], index.AppendInt[int8])
		ordered(t, rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b"), cmp.Compare[uint64], index.AppendUint[uint64])
		ordered(t, float.Draw(t, "a"), float.Draw(t, "b"), cmp.Compare[float64], index.AppendFloat64[float64])
		ordered(t, rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b"), cmp.Compare[string], index.AppendString[string])
		ordered(t, rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b"), bytes.Compare, index.AppendBytes[[]byte])
	})
}

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

func TestNullSortsFirst(t *testing.T) {
	text := index.Nullable(index.AppendString[string])
	empty := ""
	if null := text(nil, nil); bytes.Compare(null, text(nil, &empty)) >= 0 {
		t.Errorf("null is %x, the empty string %x", null, text(nil, &empty))
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

func TestReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := level(rapid.Int8().Draw(t, "level"))
		got, rest, err := index.ReadInt[level](append(index.AppendInt(nil, want), 0xab))
		if err != nil || got != want || len(rest) != 1 {
			t.Fatalf("ReadInt of %v: %v, rest %x, %v", want, got, rest, err)
		}
		id := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got, _, err := index.ReadUUID[[16]byte](index.AppendUUID(nil, id)); err != nil || got != id {
			t.Fatalf("ReadUUID of %x: %x, %v", id, got, err)
		}
	})
	if _, _, err := index.ReadInt[level](index.AppendInt(nil, 1000)); err == nil {
		t.Error("1000 as an int8: no error")
	}
	if _, _, err := index.ReadUint[uint8](index.AppendUint(nil, uint64(256))); err == nil {
		t.Error("256 as a uint8: no error")
	}
	if _, _, err := index.ReadString[string](index.AppendInt(nil, 1)); err == nil {
		t.Error("an integer as a string: no error")
	}
}

func TestKeysDoNotAllocate(t *testing.T) {
	buf, now := make([]byte, 0, 128), time.Now()
	var ancient time.Time
	if n := testing.AllocsPerRun(100, func() {
		b := index.AppendTime(buf, now)
		b = index.AppendTime(b, ancient)
		b = index.AppendInt(b, level(3))
		index.AppendString(b, "text")
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
