// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// DecodeHead reads the value of the key ("D", kind, key) of the directory of the ID
// service: a document with the first bytes of its value, and the size of the whole value.
// The other bytes are under ("D", kind, key, n), n from 1, in chunks of [ChunkSize].
func DecodeHead(value []byte) (head store.Document, size int, err error) {
	var d document
	err = d.decode(value)
	return d.Document, d.size, err
}

// ChunkSize is the size in bytes of all chunks of a document's value but the last one.
const ChunkSize = chunkSize

// DecodeSequence reads the value of the key ("S", name).
func DecodeSequence(value []byte) (store.Sequence, error) {
	var q sequence
	err := q.decode(value)
	return q.Sequence, err
}

// ExpiryTime returns a document's time of expiry as the keys ("Z", time, kind, key) have
// it; 0 for a document that does not expire.
func ExpiryTime(d store.Document) int64 { return nanoseconds(d.Expires) }
