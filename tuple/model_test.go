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
