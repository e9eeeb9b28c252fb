// SPDX-License-Identifier: Apache-2.0

package persistimpl_test

import (
	"bytes"
	"cmp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/persistable/persistimpl"
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
		ordered(t, instant.Draw(t, "a"), instant.Draw(t, "b"), time.Time.Compare, persistimpl.AppendTime)
		ordered(t, rapid.Int8().Draw(t, "a"), rapid.Int8().Draw(t, "b"), cmp.Compare[int8], persistimpl.AppendInt[int8])
		ordered(t, rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b"), cmp.Compare[uint64], persistimpl.AppendUint[uint64])
		ordered(t, float.Draw(t, "a"), float.Draw(t, "b"), cmp.Compare[float64], persistimpl.AppendFloat64[float64])
		ordered(t, rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b"), cmp.Compare[string], persistimpl.AppendString[string])
		ordered(t, rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b"), bytes.Compare, persistimpl.AppendBytes[[]byte])
	})
}

func TestNullSortsFirst(t *testing.T) {
	text := persistimpl.Nullable(persistimpl.AppendString[string])
	empty := ""
	if null := text(nil, nil); bytes.Compare(null, text(nil, &empty)) >= 0 {
		t.Errorf("null is %x, the empty string %x", null, text(nil, &empty))
	}
}

func TestReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := level(rapid.Int8().Draw(t, "level"))
		got, rest, err := persistimpl.ReadInt[level](append(persistimpl.AppendInt(nil, want), 0xab))
		if err != nil || got != want || len(rest) != 1 {
			t.Fatalf("ReadInt of %v: %v, rest %x, %v", want, got, rest, err)
		}
		id := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		if got, _, err := persistimpl.ReadUUID[[16]byte](persistimpl.AppendUUID(nil, id)); err != nil || got != id {
			t.Fatalf("ReadUUID of %x: %x, %v", id, got, err)
		}
	})
	if _, _, err := persistimpl.ReadInt[level](persistimpl.AppendInt(nil, 1000)); err == nil {
		t.Error("1000 as an int8: no error")
	}
	if _, _, err := persistimpl.ReadUint[uint8](persistimpl.AppendUint(nil, uint64(256))); err == nil {
		t.Error("256 as a uint8: no error")
	}
	if _, _, err := persistimpl.ReadString[string](persistimpl.AppendInt(nil, 1)); err == nil {
		t.Error("an integer as a string: no error")
	}
}

func TestKeysDoNotAllocate(t *testing.T) {
	buf, now := make([]byte, 0, 128), time.Now()
	var ancient time.Time
	if n := testing.AllocsPerRun(100, func() {
		b := persistimpl.AppendTime(buf, now)
		b = persistimpl.AppendTime(b, ancient)
		b = persistimpl.AppendInt(b, level(3))
		persistimpl.AppendString(b, "text")
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestReadersOfReaders reads back nulls and values, in both orders, with more after them.
func TestReadersOfReaders(t *testing.T) {
	encode := persistimpl.Nullable(persistimpl.AppendString[string])
	descend := persistimpl.Descending(encode)
	read := persistimpl.ReadNullable(persistimpl.ReadString[string])
	ascend := persistimpl.ReadDescending(read)
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Ptr(rapid.String(), true).Draw(t, "value")
		for name, pair := range map[string]struct {
			encode func([]byte, *string) []byte
			read   func([]byte) (*string, []byte, error)
		}{"ascending": {encode, read}, "descending": {descend, ascend}} {
			b := persistimpl.AppendInt(pair.encode(nil, want), 7)
			got, rest, err := pair.read(b)
			if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Fatalf("%s: read %v, %v, want %v", name, got, err, want)
			}
			if n, rest, err := persistimpl.ReadInt[int](rest); n != 7 || len(rest) > 0 || err != nil {
				t.Fatalf("%s: after the value: %d, %q, %v", name, n, rest, err)
			}
		}
	})
}

// TestReadersOfReadersRefuse reads what is no such value.
func TestReadersOfReadersRefuse(t *testing.T) {
	for name, b := range map[string][]byte{"nothing": nil, "a string": persistimpl.AppendString(nil, "x"), "a cut time": persistimpl.Descend(persistimpl.AppendTime(nil, time.Unix(1, 0)), 0)[:3]} {
		if v, _, err := persistimpl.ReadNullable(persistimpl.ReadTime)(b); err == nil {
			t.Errorf("%s: ReadNullable = %v", name, v)
		}
		if v, _, err := persistimpl.ReadDescending(persistimpl.ReadTime)(b); err == nil {
			t.Errorf("%s: ReadDescending = %v", name, v)
		}
	}
}
