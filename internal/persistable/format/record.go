// SPDX-License-Identifier: Apache-2.0

// Package format holds the formats of the values that a store keeps: the header
// of a record and the chunks after it ([Record]), and the header of the store
// itself ([Catalog]). docs/layout.md shows their bytes.
//
// All functions may be called concurrently, but only one goroutine at a time may
// change a [Catalog].
package format

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// A stored record begins with a header: a byte for the format, the number of
// further chunks as a uvarint, and the token of the transaction that created
// the record.
const (
	recordFormat = 1
	tokenSize    = 8

	// HeaderSize is the size of a header in bytes, if it counts fewer than 128
	// chunks: as all do that this program writes.
	HeaderSize = 1 + 1 + tokenSize
	// MaxChunkSuffix is room for a chunk's number after a record's key, in bytes.
	MaxChunkSuffix = 4
)

// Token identifies one call of Transact. Records keep the token of their
// creation for life, so that the call can recognize them.
type Token [tokenSize]byte

// NewToken returns a random token.
func NewToken() (t Token) {
	binary.LittleEndian.PutUint64(t[:], rand.Uint64())
	return t
}

// Record is the value under a record's key, taken apart.
type Record struct {
	Chunks  int // further chunks after this value
	Token   Token
	Payload []byte // the record's bytes, or the first part of them
}

// AppendHeader appends the header of a record without chunks.
func AppendHeader(b []byte, t Token) []byte {
	return append(append(b, recordFormat, 0), t[:]...)
}

// SetToken changes the token of a record with a header of [HeaderSize].
func SetToken(value []byte, t Token) { copy(value[HeaderSize-tokenSize:HeaderSize], t[:]) }

// maxChunks bounds what a header may claim: a transaction cannot write more.
const maxChunks = kv.MaxTransactionSize/kv.MaxValueSize + 1

// ParseRecord takes the value under a record's key apart. It returns an *[Error]
// if the header is damaged or of a newer format.
func ParseRecord(value []byte) (Record, error) {
	if len(value) == 0 {
		return Record{}, corrupt("the value is empty")
	}
	switch format := value[0]; {
	case format == 0:
		return Record{}, corrupt("the value does not begin with a format")
	case format > recordFormat:
		return Record{}, newerError("", newer.Format(int64(format), recordFormat, ""))
	}
	chunks, n := binary.Uvarint(value[1:])
	if n <= 0 || chunks > maxChunks || len(value) < 1+n+tokenSize {
		return Record{}, corrupt("the header is cut off or damaged")
	}
	r := Record{Chunks: int(chunks), Payload: value[1+n+tokenSize:]}
	copy(r.Token[:], value[1+n:])
	return r, nil
}

// Split cuts a record without chunks that is larger than [kv.MaxValueSize] into
// its first value, with a header that counts the chunks, and the rest.
func Split(value []byte) (first, rest []byte) {
	value[1] = byte((len(value) - 1) / kv.MaxValueSize) // one byte, since maxChunks is below 128
	return value[:kv.MaxValueSize], value[kv.MaxValueSize:]
}

// AppendChunk appends the number of a chunk, from 1, to its record's key.
func AppendChunk(key []byte, n int) []byte { return tuple.AppendInt(key, int64(n)) }

// ChunkRange returns the keys of the chunks after a record's first value.
func ChunkRange(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: kv.Successor(key), End: append(slices.Clone(key), 0xff)}
}

// Error says why stored bytes cannot be used. The caller adds where they are.
type Error struct {
	Reason string // what is wrong
	Remedy string // what to do
	Err    error  // [newer.Err] or nil
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Remedy
	}
	return e.Reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// RemedyCorrupt is the remedy of an [Error] about bytes that no format has. A newer version
// of the user's program may have written the content of a record.
const RemedyCorrupt = "if a newer version of the program wrote it, update this one; otherwise restore it from a backup"

func corrupt(reason string) error { return &Error{reason, RemedyCorrupt, nil} }

// newerError is the [Error] of what a newer version wrote; other errors it returns as they
// are.
func newerError(what string, err error) error {
	var found *newer.Error
	if !errors.As(err, &found) {
		return err
	}
	return &Error{what + newer.Err.Error() + ": " + found.Reason, found.Remedy, err}
}
