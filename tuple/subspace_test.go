// SPDX-License-Identifier: Apache-2.0

package tuple

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

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
	var malformed *DecodeError
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
