// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// readers are the typed readers with one signature.
var readers = map[string]func(b []byte) (any, []byte, error){
	"nil":          func(b []byte) (any, []byte, error) { rest, err := ReadNil(b); return nil, rest, err },
	"bytes":        func(b []byte) (any, []byte, error) { return erase(ReadBytes(b)) },
	"string":       func(b []byte) (any, []byte, error) { return erase(ReadString(b)) },
	"tuple":        func(b []byte) (any, []byte, error) { return erase(ReadTuple(b)) },
	"integer":      func(b []byte) (any, []byte, error) { return erase(ReadBigInt(b)) },
	"float32":      func(b []byte) (any, []byte, error) { return erase(ReadFloat32(b)) },
	"float64":      func(b []byte) (any, []byte, error) { return erase(ReadFloat64(b)) },
	"bool":         func(b []byte) (any, []byte, error) { return erase(ReadBool(b)) },
	"uuid":         func(b []byte) (any, []byte, error) { return erase(ReadUUID(b)) },
	"versionstamp": func(b []byte) (any, []byte, error) { return erase(ReadVersionstamp(b)) },
}

func erase[T any](v T, rest []byte, err error) (any, []byte, error) { return v, rest, err }

func TestReadersTakeTheirKindOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := anyElement(2).Draw(t, "element")
		kind, value := modelKind(element)
		tail := anyTuple(0).Draw(t, "tail").MustPack()
		packed := append(Tuple{element}.MustPack(), tail...)
		for name, read := range readers {
			got, rest, err := read(packed)
			if name != kind {
				if !errors.Is(err, ErrWrongType) {
					t.Fatalf("%s reader on %s: %v, want ErrWrongType", name, kind, err)
				}
				continue
			}
			want := element
			if kind == "integer" {
				want = value
			}
			if kind == "tuple" {
				want = modelUnpacked(value.(Tuple))
			}
			if diff := cmp.Diff(want, got, exact...); err != nil || diff != "" || !bytes.Equal(rest, tail) {
				t.Fatalf("%s reader: error %v, rest %x, want %x (-want +got):\n%s", name, err, rest, tail, diff)
			}
		}
		if IsNil(packed) != (kind == "nil") {
			t.Fatalf("IsNil(%x) = %t", packed, IsNil(packed))
		}
	})
}

func TestReadersAtTheEnd(t *testing.T) {
	for name, read := range readers {
		if _, _, err := read(nil); !errors.Is(err, ErrNoElement) {
			t.Errorf("%s reader on an empty key: %v, want ErrNoElement", name, err)
		}
	}
	if _, _, err := Next(nil); !errors.Is(err, ErrNoElement) {
		t.Errorf("Next on an empty key: %v, want ErrNoElement", err)
	}
	if _, err := Skip(nil); !errors.Is(err, ErrNoElement) {
		t.Errorf("Skip on an empty key: %v, want ErrNoElement", err)
	}
	if IsNil(nil) {
		t.Error("an empty key has a nil element")
	}
}

func TestIntegerReadersRefuse(t *testing.T) {
	tests := []struct {
		packed string
		want   error
	}{
		{"", ErrNoElement},
		{"\x00", ErrWrongType},
		{"\x17\x01", ErrMalformed},
		{"\x1d", ErrMalformed},
		{"\x0b\xf0\x01", ErrMalformed},
	}
	for _, test := range tests {
		b := []byte(test.packed)
		_, _, errInt := ReadInt(b)
		_, _, errUint := ReadUint(b)
		_, _, _, err128 := ReadInt128(b)
		for name, err := range map[string]error{"ReadInt": errInt, "ReadUint": errUint, "ReadInt128": err128} {
			if !errors.Is(err, test.want) {
				t.Errorf("%s(%x): %v, want %v", name, b, err, test.want)
			}
		}
	}
}

// TestIntegerReadersAtTheBorders holds the largest and smallest integers of
// each type, and the first beyond them.
func TestIntegerReadersAtTheBorders(t *testing.T) {
	power := func(exponent uint, plus int64) *big.Int {
		v := new(big.Int).Lsh(big.NewInt(1), exponent)
		return v.Add(v, big.NewInt(plus))
	}
	negative := func(v *big.Int) *big.Int { return new(big.Int).Neg(v) }
	borders := []*big.Int{
		power(63, -1), power(63, 0), power(64, -1), power(64, 0), power(127, -1), power(127, 0), power(127, 1),
		power(128, -1), power(128, 0), power(128, 1), power(136, 5),
	}
	for _, border := range borders {
		for _, v := range []*big.Int{border, negative(border)} {
			packed := Tuple{v}.MustPack()
			got, _, err := ReadInt(packed)
			if (err == nil) != v.IsInt64() || err == nil && got != v.Int64() {
				t.Errorf("ReadInt of %v = %d, %v", v, got, err)
			}
			unsigned, _, err := ReadUint(packed)
			if (err == nil) != v.IsUint64() || err == nil && unsigned != v.Uint64() {
				t.Errorf("ReadUint of %v = %d, %v", v, unsigned, err)
			}
			checkInt128(t, v, packed)
		}
	}
}

// TestIntegerReaders holds every integer, of every length, against math/big.
func TestIntegerReaders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyBigInt().Draw(t, "v")
		packed, err := AppendBigInt(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := ReadInt(packed); err == nil != v.IsInt64() || err == nil && got != v.Int64() {
			t.Fatalf("ReadInt of %v = %d, %v", v, got, err)
		} else if err != nil && !errors.Is(err, ErrOutOfRange) {
			t.Fatalf("ReadInt of %v: %v, want ErrOutOfRange", v, err)
		}
		if got, _, err := ReadUint(packed); err == nil != v.IsUint64() || err == nil && got != v.Uint64() {
			t.Fatalf("ReadUint of %v = %d, %v", v, got, err)
		} else if err != nil && !errors.Is(err, ErrOutOfRange) {
			t.Fatalf("ReadUint of %v: %v, want ErrOutOfRange", v, err)
		}
		checkInt128(t, v, packed)
	})
}

func checkInt128(t rapid.TB, v *big.Int, packed []byte) {
	limit := new(big.Int).Lsh(big.NewInt(1), 127)
	fits := v.Cmp(limit) < 0 && v.Cmp(new(big.Int).Neg(limit)) >= 0
	hi, lo, _, err := ReadInt128(packed)
	if err == nil != fits {
		t.Fatalf("ReadInt128 of %v: %v", v, err)
	}
	if err != nil {
		if !errors.Is(err, ErrOutOfRange) {
			t.Fatalf("ReadInt128 of %v: %v, want ErrOutOfRange", v, err)
		}
		return
	}
	got := new(big.Int).Lsh(big.NewInt(hi), 64)
	if got.Add(got, new(big.Int).SetUint64(lo)); got.Cmp(v) != 0 {
		t.Fatalf("ReadInt128 of %v = %v", v, got)
	}
	if again := AppendInt128(nil, hi, lo); !bytes.Equal(again, packed) {
		t.Fatalf("AppendInt128 of %v = %x, want %x", v, again, packed)
	}
}

func TestAppendIntegersAgree(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 255, 256, -255, -256, math.MaxInt64, math.MinInt64, math.MinInt64 + 1} {
		want := Tuple{big.NewInt(v)}.MustPack()
		got := map[string][]byte{
			"AppendInt":    AppendInt(nil, v),
			"AppendInt128": AppendInt128(nil, v>>63, uint64(v)),
		}
		if v >= 0 {
			got["AppendUint"] = AppendUint(nil, uint64(v))
		}
		for name, packed := range got {
			if !bytes.Equal(packed, want) {
				t.Errorf("%s(%d) = %x, want %x", name, v, packed, want)
			}
		}
	}
}

// TestNonCanonicalIntegers holds what no layer writes but the official one reads.
func TestNonCanonicalIntegers(t *testing.T) {
	tests := []struct {
		packed string
		want   int64
	}{
		{"\x15\x00", 0},
		{"\x16\x00\xff", 255},
		{"\x13\xff", 0},
		{"\x12\xff\x00", -255},
		{"\x1d\x00", 0},
		{"\x1d\x12" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07", 7},
		{"\x0b\xfe\x00", -255},
		{"\x0b\xff", 0},
	}
	if got, _, err := Next([]byte{0x15, 0}); err != nil || got != uint64(0) {
		t.Errorf("Next of a long zero is the %T %v, %v; the official layer gives a uint64", got, got, err)
	}
	for _, test := range tests {
		got, rest, err := ReadInt([]byte(test.packed + "x"))
		if err != nil || got != test.want || string(rest) != "x" {
			t.Errorf("ReadInt(%x) = %d, %q, %v, want %d", test.packed, got, rest, err, test.want)
		}
		hi, lo, _, err := ReadInt128([]byte(test.packed))
		if err != nil || int64(lo) != test.want || hi != test.want>>63 {
			t.Errorf("ReadInt128(%x) = %d, %d, %v, want %d", test.packed, hi, lo, err, test.want)
		}
	}
}

func TestSubspaceHoldsItsKeysOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSubspace(anyOctets().Draw(t, "prefix"))
		inner := s.Sub(anyTuple(1).Draw(t, "sub")...)
		in := anyTuple(2).Draw(t, "in")
		key, err := inner.Pack(in)
		if err != nil {
			t.Fatal(err)
		}
		if !inner.Contains(key) || !s.Contains(key) {
			t.Fatalf("%v or %v does not contain the key %x that it packed", inner, s, key)
		}
		got, err := inner.Unpack(key)
		if diff := cmp.Diff(modelUnpacked(in), got, exact...); err != nil || diff != "" {
			t.Fatalf("Unpack: %v (-want +got):\n%s", err, diff)
		}
		begin, end := inner.Range()
		inside := bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0
		if inside != (len(in) > 0) {
			t.Fatalf("key %x in the range %x to %x: %t", key, begin, end, inside)
		}
	})
}

func TestSubspaceRefusesForeignKeys(t *testing.T) {
	s := NewSubspace([]byte("abc"))
	for _, key := range []string{"", "ab", "abd\x14", "Abc"} {
		if s.Contains([]byte(key)) {
			t.Errorf("%v contains %q", s, key)
		}
		if _, err := s.Unpack([]byte(key)); !errors.Is(err, ErrNotInSubspace) {
			t.Errorf("Unpack(%q): %v, want ErrNotInSubspace", key, err)
		}
		if _, err := s.Strip([]byte(key)); !errors.Is(err, ErrNotInSubspace) {
			t.Errorf("Strip(%q): %v, want ErrNotInSubspace", key, err)
		}
	}
	var malformed *decodeError
	if _, err := s.Unpack([]byte("abc\xff")); !errors.As(err, &malformed) || malformed.Offset != 0 {
		t.Errorf("Unpack of a malformed key: %v", err)
	}
}

func TestSubspaceIsImmutable(t *testing.T) {
	prefix := []byte("abc")
	s := NewSubspace(prefix)
	prefix[0] = 'x'
	s.Bytes()[1] = 'x'
	key, _ := s.Pack(Tuple{1})
	key[2] = 'x'
	begin, end := s.Range()
	begin[0], end[0] = 'x', 'x'
	if s != NewSubspace([]byte("abc")) {
		t.Errorf("the prefix became %q", s.Bytes())
	}
}

func TestSubspacePackVersionstamped(t *testing.T) {
	got, err := NewSubspace([]byte("p")).PackVersionstamped(Tuple{1, Incomplete(2)})
	want := []byte("p\x15\x01\x33\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x02\x04\x00\x00\x00")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("PackVersionstamped = %x, %v, want %x", got, err, want)
	}
}
