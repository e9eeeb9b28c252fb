// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// A stored record begins with a header: a byte for the format, the number of
// further chunks as a uvarint, and the token of the transaction that created
// the record.
const (
	recordFormat  = 1
	tokenSize     = 8
	minHeaderSize = 1 + 1 + tokenSize
)

// token identifies one call of Transact. Records keep the token of their
// creation for life, so that the call can recognize them.
type token [tokenSize]byte

// storedRecord is a record's value, taken apart.
type storedRecord struct {
	chunks  int // further chunks behind this value
	token   token
	payload []byte // the record's bytes, or the first part of them
}

func appendHeader(b []byte, chunks int, t token) []byte {
	b = append(b, recordFormat)
	b = binary.AppendUvarint(b, uint64(chunks))
	return append(b, t[:]...)
}

// maxChunks bounds what a header may claim: more could not have been written in
// a transaction.
const maxChunks = kv.MaxTransactionSize/kv.MaxValueSize + 1

const (
	reasonNewerFormat = "it is of format %d; this program knows formats up to %d"
	remedyNewer       = "update the program that reads it"
	remedyCorrupt     = "if a newer version of the program wrote it, update this one; otherwise restore it from a backup"
)

// headerError is the fault of a header; the caller adds type and key.
type headerError struct{ reason, remedy string }

func (e *headerError) Error() string { return e.reason }

func parseHeader(value []byte) (storedRecord, error) {
	if len(value) == 0 {
		return storedRecord{}, &headerError{"the value is empty", remedyCorrupt}
	}
	switch format := value[0]; {
	case format == 0:
		return storedRecord{}, &headerError{"the value does not begin with a format", remedyCorrupt}
	case format > recordFormat:
		return storedRecord{}, &headerError{fmt.Sprintf(reasonNewerFormat, format, recordFormat), remedyNewer}
	}
	chunks, n := binary.Uvarint(value[1:])
	if n <= 0 || chunks > maxChunks || len(value) < 1+n+tokenSize {
		return storedRecord{}, &headerError{"the header is cut off or damaged", remedyCorrupt}
	}
	s := storedRecord{chunks: int(chunks), payload: value[1+n+tokenSize:]}
	copy(s.token[:], value[1+n:])
	return s, nil
}

// splitRecord cuts a record with a header for no chunks into its first value,
// with a header for as many as it needs, and the rest. The number of chunks
// takes one byte of the header as long as it is below 128, and is: a
// transaction cannot hold more.
func splitRecord(value []byte) (first, rest []byte) {
	chunks := (len(value) - 1) / kv.MaxValueSize
	value[1] = byte(chunks)
	return value[:kv.MaxValueSize], value[kv.MaxValueSize:]
}
