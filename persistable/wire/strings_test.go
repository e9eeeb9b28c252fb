// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/kazahana-db/kazahana/persistable/wire"
)

// TestStrings makes strings of bytes that change afterwards, of all lengths around the
// bounds: each keeps its value.
func TestStrings(t *testing.T) {
	for name, s := range map[string]*wire.Strings{"none": nil, "shared": {}, "expected": expecting(3000), "expected too few": expecting(1)} {
		var made, want []string
		buf := make([]byte, 0, 2000)
		for _, n := range []int{0, 1, 2, 100, 255, 256, 257, 1023, 1024, 1025, 2000, 1, 200, 200, 200, 200, 200, 200} {
			text := strings.Repeat(string(rune('a'+len(made))), n)
			buf = append(buf[:0], text...)
			made, want = append(made, s.Copy(buf)), append(want, text)
			clear(buf)
		}
		if fmt.Sprint(made) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", name, made, want)
		}
	}
}

func expecting(bytes int) *wire.Strings {
	s := new(wire.Strings)
	s.Expect(bytes)
	return s
}

// TestStringsShareMemory counts allocations: expected strings need one for 1,024 bytes.
func TestStringsShareMemory(t *testing.T) {
	text := []byte("some text of thirty-two letters.")
	var s wire.Strings
	if got := testing.AllocsPerRun(100, func() {
		s.Expect(64 * len(text))
		for range 64 {
			_ = s.Copy(text)
		}
	}); got != 2 {
		t.Errorf("%v allocations for 2,048 bytes, want 2", got)
	}
}

// TestCopyRepeated finds equal strings in the same memory, and others in their own.
func TestCopyRepeated(t *testing.T) {
	var s wire.Strings
	a, b, c := s.CopyRepeated([]byte("one")), s.CopyRepeated([]byte("one")), s.CopyRepeated([]byte("two"))
	if a != "one" || b != "one" || c != "two" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	if unsafe.StringData(a) != unsafe.StringData(b) {
		t.Error("the second one has memory of its own")
	}
}

// TestReaderOfStrings reads a message whose bytes change afterwards.
func TestReaderOfStrings(t *testing.T) {
	b := wire.AppendString([]byte{0x0a}, "first")
	b = wire.AppendString(append(b, 0x12), "second")
	r := expecting(len(b)).NewReader(b)
	var got []string
	for r.Next() {
		got = append(got, r.String())
	}
	clear(b)
	if fmt.Sprint(got, r.Err()) != "[first second] <nil>" {
		t.Error(got, r.Err())
	}
}
