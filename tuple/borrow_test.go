// SPDX-License-Identifier: Apache-2.0

package tuple_test

import (
	"bytes"
	"testing"

	"github.com/kazahana-db/kazahana/tuple"
)

// TestBorrowString compares it with ReadString, with all that may follow a string.
func TestBorrowString(t *testing.T) {
	for _, text := range []string{"", "a", "team00042", "\x00", "a\x00b\x00\x00", "\x00\xff", "ü"} {
		for _, behind := range []string{"", "\x15\x01", "\x02b\x00"} {
			b := append(tuple.AppendString(nil, text), behind...)
			want, wantRest, wantErr := tuple.ReadString(b)
			got, rest, err := tuple.BorrowString(b)
			if string(got) != want || !bytes.Equal(rest, wantRest) || err != nil || wantErr != nil {
				t.Errorf("%q: %q, %q, %v; want %q, %q, %v", b, got, rest, err, want, wantRest, wantErr)
			}
		}
	}
	for _, b := range []string{"", "\x15\x01", "\x01a\x00", "\x02a"} {
		_, _, want := tuple.ReadString([]byte(b))
		if _, _, err := tuple.BorrowString([]byte(b)); err == nil || err.Error() != want.Error() {
			t.Errorf("%q: %v, want %v", b, err, want)
		}
	}
}
