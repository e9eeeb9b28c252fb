// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"math"
	"math/big"
	"testing"
)

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
