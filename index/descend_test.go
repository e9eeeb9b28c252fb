// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

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
		rapid.Map(rapid.Bool(), func(v bool) []byte { return index.AppendBool(nil, v) }),
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
		k := index.AppendString(buf, "a\xff\xff\x00")
		k = index.Descend(k, 0)
		n := len(k)
		index.Descend(index.AppendTime(k, at), n)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	enc := index.Descending(index.AppendInt[int])
	if a, b := enc(nil, 1), enc(nil, 2); bytes.Compare(a, b) <= 0 {
		t.Errorf("1 is %x and 2 is %x in descending order", a, b)
	}
	if null, text := index.Descend(tuple.AppendNil(nil), 0), index.Descend(tuple.AppendString(nil, ""), 0); bytes.Compare(null, text) <= 0 {
		t.Error("null is not the last in descending order")
	}
}
