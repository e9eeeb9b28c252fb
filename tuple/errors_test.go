// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type namedString string

func TestPackNamesTheElementItRefuses(t *testing.T) {
	tooLong := new(big.Int).Lsh(big.NewInt(1), 8*maxBigIntBytes)
	tests := []struct {
		name string
		in   Tuple
		path []int
		typ  string
		text string
	}{
		{"named type", Tuple{1, namedString("x")}, []int{1}, "tuple.namedString", "element 1 (tuple.namedString)"},
		{"nested", Tuple{1, Tuple{nil, Tuple{struct{}{}}}}, []int{1, 1, 0}, "struct {}", "element 1.1.0 (struct {})"},
		{"nil big integer", Tuple{(*big.Int)(nil)}, []int{0}, "*big.Int", "nil pointer"},
		{"long big integer", Tuple{tooLong}, []int{0}, "*big.Int", "256 bytes"},
		{"long negative integer", Tuple{new(big.Int).Neg(tooLong)}, []int{0}, "*big.Int", "256 bytes"},
		{"incomplete versionstamp", Tuple{"a", Incomplete(3)}, []int{1}, "tuple.Versionstamp", "PackVersionstamped"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.in.Pack()
			var fail *encodeError
			if !errors.As(err, &fail) || !errors.Is(err, ErrPack) {
				t.Fatalf("Pack: %v, want an *encodeError that wraps ErrPack", err)
			}
			if diff := cmp.Diff(test.path, fail.Path); diff != "" || fail.Type != test.typ {
				t.Errorf("type %s, want %s; path mismatch (-want +got):\n%s", fail.Type, test.typ, diff)
			}
			if !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %q does not contain %q", err, test.text)
			}
			checkRefused(t, test.in)
		})
	}
}

// checkRefused checks that every way to pack t fails and leaves the buffer alone.
func checkRefused(t *testing.T, in Tuple) {
	t.Helper()
	buffer := []byte("kept")
	got, err := in.Append(buffer)
	if err == nil || string(got) != "kept" {
		t.Errorf("Append returned %q, %v", got, err)
	}
	if got, err = AppendTuple(buffer, in); err == nil || string(got) != "kept" {
		t.Errorf("AppendTuple returned %q, %v", got, err)
	}
	if _, _, err := in.Range(); err == nil {
		t.Error("Range did not fail")
	}
	if key, err := NewSubspace(buffer).Pack(in); err == nil || key != nil {
		t.Errorf("Subspace.Pack returned %x, %v", key, err)
	}
	wantPanic(t, "MustPack", func() { in.MustPack() })
	wantPanic(t, "Subspace.Sub", func() { NewSubspace(buffer).Sub(in...) })
}

func wantPanic(t *testing.T, what string, call func()) {
	t.Helper()
	defer func() {
		err, _ := recover().(error)
		var fail *encodeError
		if !errors.As(err, &fail) {
			t.Errorf("%s panicked with %v, want an *encodeError", what, err)
		}
	}()
	call()
}

func TestAppendBigIntKeepsTheBufferOnError(t *testing.T) {
	got, err := AppendBigInt([]byte("kept"), nil)
	if err == nil || string(got) != "kept" {
		t.Errorf("AppendBigInt(nil) = %q, %v", got, err)
	}
}

func TestPackVersionstampedCounts(t *testing.T) {
	for _, in := range []Tuple{{}, {"a"}, {Incomplete(0), Incomplete(1)}, {Incomplete(0), Tuple{Incomplete(0)}}, {namedString("x"), Incomplete(0)}} {
		key, err := in.PackVersionstamped([]byte("p"))
		var fail *encodeError
		if !errors.As(err, &fail) || key != nil {
			t.Errorf("PackVersionstamped(%v) = %x, %v, want an *encodeError", in, key, err)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	_, errCount := Tuple{}.PackVersionstamped(nil)
	_, _, errType := ReadString([]byte{codeTrue})
	_, _, errEnd := ReadString(nil)
	_, errUnknown := Unpack([]byte{0x14, 0xfe})
	tests := map[string]error{
		"tuple: cannot pack: a versionstamped key needs exactly one incomplete versionstamp, this tuple has 0": errCount,
		"tuple: element at offset 0 (type code 0x27): a bool is here, a string was expected":                   errType,
		"tuple: element at offset 0 (type code 0x00): the key ends where a string was expected":                errEnd,
		"tuple: element at offset 1 (type code 0xfe): no element begins with this byte":                        errUnknown,
	}
	for want, err := range tests {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestCompareSortsForeignElementsLast(t *testing.T) {
	foreign := Tuple{namedString("x")}
	if Compare(foreign, Tuple{Incomplete(9)}) != 1 || Compare(Tuple{nil}, foreign) != -1 || Compare(foreign, Tuple{(*big.Int)(nil)}) != 0 {
		t.Error("elements that cannot be packed do not sort last and equal")
	}
}

func TestDecodeErrorsSayWhere(t *testing.T) {
	tests := []struct {
		name   string
		packed string
		offset int
		code   byte
	}{
		{"unknown code", "\x15\x01\x02a\x00\xfe", 5, 0xfe},
		{"text without end", "\x00\x01abc", 1, codeBytes},
		{"short integer", "\x14\x17\x01\x02", 1, 0x17},
		{"long integer without length", "\x1d", 0, codeBigPositive},
		{"short long integer", "\x0b\xf6\x01", 0, codeBigNegative},
		{"short float32", "\x20\x80\x00", 0, codeFloat32},
		{"short float64", "\x21\x80\x00", 0, codeFloat64},
		{"short UUID", "\x30\x80\x00", 0, codeUUID},
		{"short versionstamp", "\x33\x80\x00", 0, codeVersionstamp},
		{"nested", "\x15\x01\x05\x00\xff\x05\x02a\x00\x03", 9, 0x03},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Unpack([]byte(test.packed))
			var fail *decodeError
			if !errors.As(err, &fail) || !errors.Is(err, ErrMalformed) {
				t.Fatalf("Unpack: %v, want a *decodeError that wraps ErrMalformed", err)
			}
			want := decodeError{Offset: test.offset, Code: test.code, Reason: fail.Reason, kind: ErrMalformed}
			if *fail != want || fail.Reason == "" {
				t.Errorf("error %+v, want %+v", *fail, want)
			}
		})
	}
}

func TestTypedReadersRefuseShortElements(t *testing.T) {
	for _, packed := range []string{"\x01a", "\x02a", "\x17\x01", "\x1d", "\x20\x01", "\x21\x01", "\x30\x01", "\x33\x01", "\x05\x03"} {
		failed := 0
		for _, read := range readers {
			if _, _, err := read([]byte(packed)); errors.Is(err, ErrMalformed) {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("%d readers call %x malformed, want the one of its kind", failed, packed)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	deepest := append(bytes.Repeat([]byte{codeNested}, maxDepth), make([]byte, maxDepth)...)
	got, err := Unpack(deepest)
	if err != nil {
		t.Fatal(err)
	}
	if again := got.MustPack(); !bytes.Equal(again, deepest) {
		t.Error("the deepest tuple does not pack to the bytes that it came from")
	}
	if rest, err := Skip(deepest); err != nil || len(rest) != 0 {
		t.Errorf("Skip left %d bytes: %v", len(rest), err)
	}
	tooDeep := append([]byte{codeNested}, deepest...)
	if _, err := Unpack(tooDeep); !errors.Is(err, ErrMalformed) {
		t.Errorf("Unpack of a tuple too deep: %v", err)
	}
	if _, err := Skip(tooDeep); !errors.Is(err, ErrMalformed) {
		t.Errorf("Skip of a tuple too deep: %v", err)
	}
	_, err = Tuple{got}.Pack()
	var fail *encodeError
	if !errors.As(err, &fail) || !strings.Contains(fail.Reason, "deeper") {
		t.Errorf("Pack of a tuple too deep: %v", err)
	}
}

// TestLenientTexts holds, for texts without an end, what the official Go layer
// was recorded, or follows by the same rule, to return.
func TestLenientTexts(t *testing.T) {
	tests := []struct {
		packed string
		want   Tuple
	}{
		{"\x02a\x00\xff", Tuple{"a\x00"}},
		{"\x01i\xff\xff\x01\x01\x00\xff\xff", Tuple{[]byte("i\xff\xff\x01\x01\x00")}},
		{"\x02a\x00\xff\x14", Tuple{"a\x00", int64(0)}},
		{"\x02a\x00\xff\xff\xff\x14", Tuple{"a\x00\xff", int64(0)}},
		{"\x01\xff", Tuple{[]byte{}}},
		{"\x05\x02a\x00\xff", Tuple{Tuple{"a\x00"}}},
	}
	for _, test := range tests {
		got, err := Unpack([]byte(test.packed))
		if diff := cmp.Diff(test.want, got, exact...); err != nil || diff != "" {
			t.Errorf("Unpack(%x): %v (-want +got):\n%s", test.packed, err, diff)
		}
	}
}

func TestUnpackSharesNoMemory(t *testing.T) {
	packed := Tuple{[]byte("abc"), "def", Tuple{[]byte("g\x00h")}, UUID{1}}.MustPack()
	got, err := Unpack(slices.Clone(packed))
	if err != nil {
		t.Fatal(err)
	}
	own := slices.Clone(packed)
	shared, err := Unpack(own)
	if err != nil {
		t.Fatal(err)
	}
	clear(own)
	if diff := cmp.Diff(got, shared, exact...); diff != "" {
		t.Errorf("clearing the key changed the tuple (-want +got):\n%s", diff)
	}
}

func TestString(t *testing.T) {
	huge, _ := new(big.Int).SetString("-340282366920938463463374607431768211456", 10)
	tests := []struct {
		in   Tuple
		want string
	}{
		{nil, "()"},
		{Tuple{}, "()"},
		{Tuple{nil}, "(nil)"},
		{Tuple{"R", "User", 42, nil, []byte("ab")}, `("R", "User", 42, nil, 0x6162)`},
		{Tuple{"a\x00\"\n\xff", []byte{}}, `("a\x00\"\n\xff", 0x)`},
		{Tuple{int8(-1), uint64(math.MaxUint64), huge}, "(-1, 18446744073709551615, -340282366920938463463374607431768211456)"},
		{Tuple{1.5, 2.0, 1e100, float32(0.1), float32(-3)}, "(1.5, 2.0, 1e+100, 0.1f, -3.0f)"},
		{Tuple{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}, "(+Inf, -Inf, NaN, -0.0)"},
		{Tuple{true, false}, "(true, false)"},
		{Tuple{UUID{0x01, 0x23, 4: 0x45, 6: 0x67, 8: 0x89, 15: 0xff}}, "(01230000-4500-6700-8900-0000000000ff)"},
		{Tuple{Versionstamp{[10]byte{7: 1, 9: 0xab}, 7}, Incomplete(1)}, "(Versionstamp(000000000000000100ab, 7), Versionstamp(incomplete, 1))"},
		{Tuple{Tuple{}, Tuple{nil, Tuple{"x"}}}, `((), (nil, ("x")))`},
		{Tuple{struct{ X int }{3}}, "({3})"},
	}
	for _, test := range tests {
		if got := test.in.String(); got != test.want {
			t.Errorf("String() = %s, want %s", got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	tests := []struct{ key, want string }{
		{"", "()"},
		{"\x02R\x00\x15\x2a", `("R", 42)`},
		{"\x02R\x00\xfe\x01", `("R") + 0xfe01`},
		{"\xfe\x01", "0xfe01"},
		{"\x15", "0x15"},
	}
	for _, test := range tests {
		if got := Describe([]byte(test.key)); got != test.want {
			t.Errorf("Describe(%x) = %s, want %s", test.key, got, test.want)
		}
	}
	if got := NewSubspace([]byte("\x02R\x00")).String(); got != `Subspace("R")` {
		t.Errorf("Subspace.String() = %s", got)
	}
}
