// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestReadersOfReaders reads back nulls and values, in both orders, with more behind them.
func TestReadersOfReaders(t *testing.T) {
	encode := index.Nullable(index.AppendString[string])
	descend := index.Descending(encode)
	read := index.ReadNullable(index.ReadString[string])
	ascend := index.ReadDescending(read)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Ptr(rapid.String(), true).Draw(t, "value")
		for name, pair := range map[string]struct {
			encode func([]byte, *string) []byte
			read   func([]byte) (*string, []byte, error)
		}{"ascending": {encode, read}, "descending": {descend, ascend}} {
			b := index.AppendInt(pair.encode(nil, want), 7)
			got, rest, err := pair.read(b)
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Fatalf("%s: read %v, %v, want %v", name, got, err, want)
			}
			if n, rest, err := index.ReadInt[int](rest); n != 7 || len(rest) > 0 || err != nil {
				t.Fatalf("%s: behind the value: %d, %q, %v", name, n, rest, err)
			}
		}
	})
}

// TestReadersOfReadersRefuse reads what is no such value.
func TestReadersOfReadersRefuse(t *testing.T) {
	for name, b := range map[string][]byte{"nothing": nil, "a string": index.AppendString(nil, "x"), "a cut time": index.Descend(index.AppendTime(nil, time.Unix(1, 0)), 0)[:3]} {
		if v, _, err := index.ReadNullable(index.ReadTime)(b); err == nil {
			t.Errorf("%s: ReadNullable = %v", name, v)
		}
		if v, _, err := index.ReadDescending(index.ReadTime)(b); err == nil {
			t.Errorf("%s: ReadDescending = %v", name, v)
		}
	}
}

// TestReadTime reads back times of all ages.
func TestReadTime(t *testing.T) {
	for _, seconds := range []int64{math.MinInt64, math.MinInt64 + 1, -62135596800, -1, 0, 1, 1 << 40, math.MaxInt64} {
		for _, nanos := range []int64{0, 1, 999_999_999} {
			want := time.Unix(seconds, nanos).UTC()
			got, rest, err := index.ReadTime(index.AppendString(index.AppendTime(nil, want), "x"))
			if err != nil || !got.Equal(want) || got != want || string(rest) != string(index.AppendString(nil, "x")) {
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
