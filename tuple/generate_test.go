// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"math"
	"math/big"

	"pgregory.net/rapid"
)

// The generators favour what the encoding treats specially: zero bytes and
// escapes, integers at the borders of their lengths, both zeros, NaNs, nested nils.

func anyTuple(depth int) *rapid.Generator[Tuple] {
	return rapid.Custom(func(t *rapid.T) Tuple {
		return Tuple(rapid.SliceOfN(anyElement(depth), 0, 5).Draw(t, "tuple"))
	})
}

func anyElement(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Map(anyOctets(), func(b []byte) any { return b }),
		rapid.Map(anyOctets(), func(b []byte) any { return string(b) }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		anyInteger(),
		rapid.Map(anyFloatBits(), func(bits uint64) any { return math.Float32frombits(uint32(bits >> 32)) }),
		rapid.Map(anyFloatBits(), func(bits uint64) any { return math.Float64frombits(bits) }),
		rapid.Map(rapid.Bool(), func(v bool) any { return v }),
		rapid.Map(rapid.SliceOfN(anyOctet(), 16, 16), func(b []byte) any { return UUID(b) }),
		rapid.Map(rapid.SliceOfN(anyOctet(), 11, 11), func(b []byte) any {
			return Versionstamp{Transaction: [10]byte(b[:10]), User: uint16(b[10]) << 4}
		}).Filter(func(v any) bool { return !v.(Versionstamp).IsIncomplete() }),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.Map(anyTuple(depth-1), func(t Tuple) any { return t }))
	}
	return rapid.OneOf(kinds...)
}

func anyOctet() *rapid.Generator[byte] {
	return rapid.OneOf(rapid.SampledFrom([]byte{0, 1, 0x7f, 0x80, 0xfe, 0xff}), rapid.Byte())
}

func anyOctets() *rapid.Generator[[]byte] { return rapid.SliceOfN(anyOctet(), 0, 12) }

// anyInteger gives integers of every Go type and length.
func anyInteger() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		v := anyBigInt().Draw(t, "integer")
		switch {
		case v.IsInt64():
			return goTypeOf(t, v.Int64())
		case v.IsUint64():
			return rapid.SampledFrom([]any{v.Uint64(), uint(v.Uint64()), v}).Draw(t, "type")
		}
		return v
	})
}

// goTypeOf returns v in one of the Go types that hold it.
func goTypeOf(t *rapid.T, v int64) any {
	fits := []any{v, int(v), big.NewInt(v)}
	if v >= 0 {
		fits = append(fits, uint64(v), uint(v))
	}
	if v == int64(int8(v)) {
		fits = append(fits, int8(v))
	}
	if v == int64(int16(v)) {
		fits = append(fits, int16(v))
	}
	if v == int64(int32(v)) {
		fits = append(fits, int32(v))
	}
	if v == int64(uint8(v)) {
		fits = append(fits, uint8(v))
	}
	if v == int64(uint16(v)) {
		fits = append(fits, uint16(v))
	}
	if v == int64(uint32(v)) {
		fits = append(fits, uint32(v))
	}
	return rapid.SampledFrom(fits).Draw(t, "type")
}

// anyBigInt gives integers of every length up to 24 bytes, half of them beside
// a power of 256, where the length of the encoding changes.
func anyBigInt() *rapid.Generator[*big.Int] {
	return rapid.Custom(func(t *rapid.T) *big.Int {
		v := new(big.Int)
		if rapid.Bool().Draw(t, "border") {
			v.Lsh(big.NewInt(1), uint(rapid.IntRange(0, 192).Draw(t, "exponent")))
			v.Add(v, big.NewInt(int64(rapid.IntRange(-2, 2).Draw(t, "beside"))))
		} else {
			v.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 24).Draw(t, "magnitude"))
		}
		if rapid.Bool().Draw(t, "negative") {
			v.Neg(v)
		}
		return v
	})
}

func anyFloatBits() *rapid.Generator[uint64] {
	special := []float64{
		0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), -math.NaN(),
		math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64,
	}
	return rapid.OneOf(rapid.Uint64(), rapid.Map(rapid.SampledFrom(special), math.Float64bits))
}
