// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/tuple"
)

func FuzzDecode(f *testing.F) {
	space := tuple.NewSubspace([]byte{0xfe})
	f.Add(space.Sub(subdirs, "name").Bytes(), ownVersion.encode())
	f.Add(space.Sub([]byte("prefix"), []byte("layer")).Bytes(), []byte{})
	f.Add(space.Sub(64).Bytes(), []byte{1, 0, 0, 0, 0, 0, 0, 0})
	f.Add(space.Sub(-1).Bytes(), []byte{0, 0, 0, 0, 0, 0, 0, 0x80})
	f.Add([]byte{}, []byte("short"))
	f.Add([]byte{0xfe, 0x15}, []byte(nil))
	f.Add([]byte{0xfe, 0x01, 0xff}, []byte("0"))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if v, err := decodeVersion(key, value); corrupt(t, err) && !bytes.Equal(v.encode(), value) {
			t.Errorf("version %v from %x", v, value)
		}
		if name, err := decodeName(node{space}, key); corrupt(t, err) && !bytes.Equal(key, space.Sub(subdirs, name).Bytes()) {
			t.Errorf("name %q from %x", name, key)
		}
		if prefix, err := decodeNodePrefix(space, key); corrupt(t, err) && !bytes.HasPrefix(key, space.Sub(prefix).Bytes()) {
			t.Errorf("prefix %x from %x", prefix, key)
		}
		if start, err := decodeWindow(space, key); corrupt(t, err) && (start < 0 || start > maxWindowStart) {
			t.Errorf("window %d from %x", start, key)
		}
		if n, err := decodeCount(key, value); corrupt(t, err) && n < 0 {
			t.Errorf("count %d from %x", n, value)
		}
	})
}

// corrupt reports whether there is no error, and fails the test if there is
// one that is not ErrCorrupt.
func corrupt(t *testing.T, err error) bool {
	t.Helper()
	var typed *CorruptError
	if err != nil && (!errors.Is(err, ErrCorrupt) || !errors.As(err, &typed) || typed.Reason == "") {
		t.Errorf("%v is not a *CorruptError with a reason", err)
	}
	return err == nil
}

func TestDecode(t *testing.T) {
	space := tuple.NewSubspace([]byte{0xfe})
	if name, err := decodeName(node{space}, space.Sub(subdirs, "a/b\x00").Bytes()); err != nil || name != "a/b\x00" {
		t.Errorf("name %q, %v", name, err)
	}
	if prefix, err := decodeNodePrefix(space, space.Sub([]byte{0x15, 0}, []byte("layer")).Bytes()); err != nil || !bytes.Equal(prefix, []byte{0x15, 0}) {
		t.Errorf("prefix %x, %v", prefix, err)
	}
	if start, err := decodeWindow(space, space.Sub(1088).Bytes()); err != nil || start != 1088 {
		t.Errorf("window %d, %v", start, err)
	}
	if n, err := decodeCount(nil, []byte{5, 1, 0, 0, 0, 0, 0, 0}); err != nil || n != 261 {
		t.Errorf("count %d, %v", n, err)
	}
	got, err := decodeVersion(nil, []byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 0, 0})
	if diff := cmp.Diff(version{1, 2, 259}, got, cmp.AllowUnexported(version{})); diff != "" || err != nil {
		t.Errorf("version %v (-want +got):\n%s", err, diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	space := tuple.NewSubspace([]byte{0xfe})
	tests := []struct {
		name string
		err  error
	}{
		{"short version", second(decodeVersion(nil, []byte("short")))},
		{"long version", second(decodeVersion(nil, make([]byte, 13)))},
		{"name outside the node", second(decodeName(node{space}, []byte{0xfd}))},
		{"name that is a number", second(decodeName(node{space}, space.Sub(subdirs, 1).Bytes()))},
		{"two names", second(decodeName(node{space}, space.Sub(subdirs, "a", "b").Bytes()))},
		{"no link", second(decodeName(node{space}, space.Sub(1, "a").Bytes()))},
		{"prefix that is a string", second(decodeNodePrefix(space, space.Sub("a").Bytes()))},
		{"node outside the tree", second(decodeNodePrefix(space, []byte{1}))},
		{"negative window", second(decodeWindow(space, space.Sub(-64).Bytes()))},
		{"huge window", second(decodeWindow(space, space.Sub(int64(maxWindowStart)+1).Bytes()))},
		{"window with more", second(decodeWindow(space, space.Sub(64, 1).Bytes()))},
		{"short count", second(decodeCount(nil, []byte{1}))},
		{"empty count", second(decodeCount(nil, []byte{}))},
		{"negative count", second(decodeCount(nil, bytes.Repeat([]byte{0xff}, 8)))},
	}
	for _, test := range tests {
		if !errors.Is(test.err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", test.name, test.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
