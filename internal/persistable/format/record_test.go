// SPDX-License-Identifier: Apache-2.0

package format

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzParseRecord(f *testing.F) {
	f.Add(append([]byte{recordFormat, 3}, 1, 2, 3, 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := ParseRecord(value)
		if err == nil && (s.Chunks > maxChunks || len(s.Payload) > len(value)-HeaderSize) {
			t.Errorf("%q became %+v", value, s)
		}
	})
}

// header returns the value of a record with so many further chunks.
func header(chunks int, r Record) []byte {
	b := binary.AppendUvarint([]byte{recordFormat}, uint64(chunks))
	return slices.Concat(b, r.Token[:], r.Payload)
}

func TestHeader(t *testing.T) {
	for _, chunks := range []int{0, 1, maxChunks} {
		want := Record{Chunks: chunks, Token: Token{9, 8, 7}, Payload: []byte("record")}
		got, err := ParseRecord(header(chunks, want))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if maxChunks >= 128 {
		t.Error("splitRecord relies on one byte for the number of chunks")
	}
}
