// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// exact compares tuples by type and value, floats by their bits.
var exact = cmp.Options{
	cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
	cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
}

// The naive model: the order of tuples and what comes back from a key, written
// from the specification of the values, sharing nothing with the encoding.

// kindOrder lists the kinds as the specification orders them.
var kindOrder = []string{"nil", "bytes", "string", "tuple", "integer", "float32", "float64", "bool", "uuid", "versionstamp"}

// modelKind returns the kind of an element and the value to compare in it.
func modelKind(element any) (kind string, value any) {
	switch v := element.(type) {
	case nil:
		return "nil", nil
	case []byte:
		return "bytes", string(v)
	case string:
		return "string", v
	case Tuple:
		return "tuple", v
	case float32:
		return "float32", modelFloat(uint64(math.Float32bits(v)), 31)
	case float64:
		return "float64", modelFloat(math.Float64bits(v), 63)
	case bool:
		return "bool", map[bool]string{false: "0", true: "1"}[v]
	case UUID:
		return "uuid", string(v[:])
	case Versionstamp:
		return "versionstamp", string(v.Transaction[:]) + string([]byte{byte(v.User >> 8), byte(v.User)})
	case *big.Int:
		return "integer", v
	}
	v, ok := new(big.Int).SetString(fmt.Sprint(element), 10)
	if !ok {
		panic(fmt.Sprintf("no element: %T", element))
	}
	return "integer", v
}

// modelFloat maps a float to an integer that orders as floats do: the bits
// below the sign are its distance from zero, NaNs farthest, and -0 is below 0.
func modelFloat(bits uint64, signBit uint) *big.Int {
	distance := new(big.Int).SetUint64(bits &^ (1 << signBit))
	if bits>>signBit == 0 {
		return distance
	}
	return distance.Neg(distance).Sub(distance, big.NewInt(1))
}

func modelCompare(a, b Tuple) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if c := modelCompareElements(a[i], b[i]); c != 0 {
			return c
		}
	}
	switch {
	case len(a) < len(b):
		return -1
	case len(a) > len(b):
		return 1
	}
	return 0
}

func modelCompareElements(a, b any) int {
	kindA, valueA := modelKind(a)
	kindB, valueB := modelKind(b)
	for _, kind := range kindOrder {
		switch {
		case kind == kindA && kind != kindB:
			return -1
		case kind == kindB && kind != kindA:
			return 1
		}
	}
	switch v := valueA.(type) {
	case string:
		switch {
		case v < valueB.(string):
			return -1
		case v > valueB.(string):
			return 1
		}
		return 0
	case *big.Int:
		return v.Cmp(valueB.(*big.Int))
	case Tuple:
		return modelCompare(v, valueB.(Tuple))
	}
	return 0
}

// modelUnpacked returns what Unpack gives for a packed t: integers in the
// smallest of int64, uint64 and *big.Int.
func modelUnpacked(t Tuple) Tuple {
	out := make(Tuple, len(t))
	for i, element := range t {
		out[i] = element
		switch kind, value := modelKind(element); kind {
		case "tuple":
			out[i] = modelUnpacked(value.(Tuple))
		case "integer":
			v := value.(*big.Int)
			switch {
			case v.IsInt64():
				out[i] = v.Int64()
			case v.IsUint64():
				out[i] = v.Uint64()
			default:
				out[i] = v
			}
		}
	}
	return out
}

func TestUnpackGivesBackWhatWasPacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyTuple(3).Draw(t, "in")
		packed := in.MustPack()
		got, err := Unpack(packed)
		if err != nil {
			t.Fatalf("Unpack(%x): %v", packed, err)
		}
		if diff := cmp.Diff(modelUnpacked(in), got, exact...); diff != "" {
			t.Fatalf("Unpack(Pack(x)) mismatch (-want +got):\n%s", diff)
		}
		if again := got.MustPack(); !bytes.Equal(again, packed) {
			t.Fatalf("packed again %x, was %x", again, packed)
		}
	})
}

func TestByteOrderIsTupleOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyTuple(2).Draw(t, "a")
		b := neighbour(t, a)
		want := modelCompare(a, b)
		if got := bytes.Compare(a.MustPack(), b.MustPack()); got != want {
			t.Fatalf("byte order %d, tuple order %d of\n%v\n%v", got, want, a, b)
		}
		if got := Compare(a, b); got != want {
			t.Fatalf("Compare %d, tuple order %d of\n%v\n%v", got, want, a, b)
		}
	})
}

// neighbour draws a tuple that often shares a beginning with a, so that the
// comparison is not decided by the first elements' kinds.
func neighbour(t *rapid.T, a Tuple) Tuple {
	shared := rapid.IntRange(0, len(a)).Draw(t, "shared")
	return append(append(Tuple{}, a[:shared]...), anyTuple(2).Draw(t, "rest")...)
}

func TestOrderWithinOneKind(t *testing.T) {
	kinds := map[string]*rapid.Generator[any]{
		"integer": anyInteger(),
		"bytes":   rapid.Map(anyOctets(), func(b []byte) any { return b }),
		"string":  rapid.Map(anyOctets(), func(b []byte) any { return string(b) }),
		"float32": rapid.Map(anyFloatBits(), func(b uint64) any { return math.Float32frombits(uint32(b >> 32)) }),
		"float64": rapid.Map(anyFloatBits(), func(b uint64) any { return math.Float64frombits(b) }),
		"tuple":   rapid.Map(anyTuple(2), func(t Tuple) any { return t }),
	}
	for name, kind := range kinds {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			tail := rapid.SliceOfN(anyElement(0), 0, 1)
			a := append(Tuple{kind.Draw(t, "a")}, tail.Draw(t, "after a")...)
			b := append(Tuple{kind.Draw(t, "b")}, tail.Draw(t, "after b")...)
			want := modelCompare(a, b)
			if got := bytes.Compare(a.MustPack(), b.MustPack()); got != want {
				t.Fatalf("byte order %d, tuple order %d of\n%v\n%v", got, want, a, b)
			}
			if got := Compare(a, b); got != want {
				t.Fatalf("Compare %d, tuple order %d of\n%v\n%v", got, want, a, b)
			}
		}))
	}
}

func TestRangeHoldsExactlyTheLongerTuples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := anyTuple(2).Draw(t, "a")
		b := neighbour(t, a)
		begin, end, err := a.Range()
		if err != nil {
			t.Fatal(err)
		}
		key := b.MustPack()
		got := bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0
		want := len(b) > len(a) && modelCompare(a, b[:len(a)]) == 0
		if got != want {
			t.Fatalf("key of %v in the range of %v: %t, want %t", b, a, got, want)
		}
	})
}

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

// anyBigInt gives integers of every length up to 24 bytes, half of them next to
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
