// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
)

// ChunkSize is the size in bytes of the first value of a record with chunks, and of all
// its chunks but the last one.
const ChunkSize = kv.MaxValueSize

// DecodeRecord reads the value under a record's key: how many chunks are behind it, and the
// bytes of the record, or the first part of them. It returns an *[Error] if the header is
// damaged or of a newer format.
func DecodeRecord(value []byte) (chunks int, payload []byte, err error) {
	r, err := format.ParseRecord(value)
	return r.Chunks, r.Payload, err
}
