// SPDX-License-Identifier: Apache-2.0

package emitter

import (
	"testing"

	"github.com/kazahana-db/kazahana/codegen/internal/tags"
)

func TestTagBytes(t *testing.T) {
	cases := []struct {
		number int32
		typ    int
		want   string
	}{
		{1, 0, "0x08"},
		{15, 2, "0x7a"},
		{16, 2, "0x82, 0x01"},
		{2047, 5, "0xfd, 0x7f"},
		{2048, 0, "0x80, 0x80, 0x01"},
		{tags.MaxNumber, 2, "0xfa, 0xff, 0xff, 0xff, 0x0f"},
	}
	for _, c := range cases {
		if got := tagBytes(c.number, c.typ); got != c.want {
			t.Errorf("tagBytes(%d, %d) = %s, want %s", c.number, c.typ, got, c.want)
		}
	}
}
