// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayout pins the bytes of every kind, as the format's specification gives
// them, so that a change of the layout fails here without any recordings.
func TestLayout(t *testing.T) {
	tests := []struct {
		in   Tuple
		want string // hex, spaces for the eye
	}{
		{Tuple{}, ""},
		{Tuple{nil}, "00"},
		{Tuple{[]byte("foo\x00bar")}, "01 666f6f 00ff 626172 00"},
		{Tuple{"F\u00d4O\u0000bar"}, "02 46c3944f 00ff 626172 00"},
		{Tuple{Tuple{[]byte("foo\x00bar"), nil, Tuple{}}}, "05 01666f6f00ff62617200 00ff 0500 00"},
		{Tuple{int64(0)}, "14"},
		{Tuple{int64(1)}, "15 01"},
		{Tuple{int64(-1)}, "13 fe"},
		{Tuple{int64(255)}, "15 ff"},
		{Tuple{int64(256)}, "16 0100"},
		{Tuple{int64(-5551212)}, "11 ab4b93"},
		{Tuple{int64(math.MaxInt64)}, "1c 7fffffffffffffff"},
		{Tuple{int64(math.MinInt64)}, "0c 7fffffffffffffff"},
		{Tuple{uint64(math.MaxUint64)}, "1c ffffffffffffffff"},
		{Tuple{new(big.Int).Neg(new(big.Int).SetUint64(math.MaxUint64))}, "0c 0000000000000000"},
		{Tuple{new(big.Int).Lsh(big.NewInt(1), 64)}, "1d 09 010000000000000000"},
		{Tuple{new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 64))}, "0b f6 feffffffffffffffff"},
		{Tuple{float32(-42)}, "20 3dd7ffff"},
		{Tuple{float32(0)}, "20 80000000"},
		{Tuple{42.0}, "21 c045000000000000"},
		{Tuple{math.Copysign(0, -1)}, "21 7fffffffffffffff"},
		{Tuple{math.Inf(1)}, "21 fff0000000000000"},
		{Tuple{false, true}, "26 27"},
		{Tuple{UUID{0: 0x12, 15: 0x34}}, "30 12000000000000000000000000000034"},
		{Tuple{Versionstamp{[10]byte{7: 5, 9: 6}, 0x0102}}, "33 00000000000000050006 0102"},
	}
	for _, test := range tests {
		want, err := hex.DecodeString(strings.ReplaceAll(test.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := test.in.MustPack(); !bytes.Equal(got, want) {
			t.Errorf("%v packs to %x, want %x", test.in, got, want)
		}
		got, err := Unpack(want)
		if diff := cmp.Diff(test.in, got, exact...); err != nil || diff != "" {
			t.Errorf("Unpack(%x): %v (-want +got):\n%s", want, err, diff)
		}
	}
}
