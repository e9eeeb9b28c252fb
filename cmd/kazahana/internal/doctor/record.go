// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/stored"
	"github.com/kazahana-db/kazahana/tuple"
)

// record is the keys of one record.
type record struct {
	id     []byte // packed; nil: the key is no record's
	key    []byte
	value  []byte // nil: only chunks are there
	astray bool   // it is not in the shard of its id
	chunks []kv.KeyValue
	other  *fault // decoded, it says another directory than its own; nil: it does not
}

// payload joins the bytes of the record.
func (r *record) payload() ([]byte, *fault) {
	if r.value == nil {
		return nil, newFault("record/missing-head", r.key, "there are %d chunks, and no first value", len(r.chunks))
	}
	n, payload, err := stored.DecodeRecord(r.value)
	if err != nil {
		return nil, newFault("record/bad-header", r.key, "%v", reasonOf(err))
	}
	if n == 0 && len(r.chunks) == 0 {
		return payload, nil
	}
	if f := r.checkChunks(n); f != nil {
		return nil, f
	}
	whole := append(make([]byte, 0, r.size()), payload...)
	for _, chunk := range r.chunks {
		whole = append(whole, chunk.Value...)
	}
	return whole, nil
}

// checkChunks checks that the record has n chunks, and their sizes.
func (r *record) checkChunks(n int) *fault {
	if n > 0 && len(r.value) != stored.ChunkSize {
		return newFault("record/torn-chunk", r.key, "its first value has %d bytes instead of %d", len(r.value), stored.ChunkSize)
	}
	for i, chunk := range r.chunks {
		number, _, err := tuple.ReadInt(chunk.Key[len(r.key):])
		switch size := len(chunk.Value); {
		case err != nil || number < 1 || !bytes.Equal(chunk.Key, tuple.AppendInt(bytes.Clone(r.key), number)):
			return newFault("record/bad-key", chunk.Key, "it is behind the key of a record, and no chunk's")
		case number > int64(n):
			return newFault("record/surplus-chunk", chunk.Key, "the record has %d chunks, by its header", n)
		case number != int64(i+1):
			return newFault("record/missing-chunk", r.key, "the chunk %d of %d is missing", i+1, n)
		case i+1 < n && size != stored.ChunkSize, i+1 == n && (size == 0 || size > stored.ChunkSize):
			return newFault("record/torn-chunk", chunk.Key, "it has %d bytes instead of %d", size, stored.ChunkSize)
		}
	}
	if len(r.chunks) < n {
		return newFault("record/missing-chunk", r.key, "the chunk %d of %d is missing", len(r.chunks)+1, n)
	}
	return nil
}

// size returns how many bytes the values of the record have.
func (r *record) size() int64 {
	n := len(r.value)
	for _, chunk := range r.chunks {
		n += len(chunk.Value)
	}
	return int64(n)
}

// indexRecord returns what entries copy of the record.
func (r *record) indexRecord() index.Record {
	if len(r.chunks) > 0 {
		return index.Record{ID: r.id}
	}
	return index.Record{ID: r.id, Value: r.value}
}

// owns reports whether a key is that of the record, or of a chunk of it.
func (r *record) owns(key []byte) bool {
	return r.id != nil && (bytes.Equal(key, r.key) || isChunkKey(r.key, key))
}

// bounds returns the range of the record's keys.
func (r *record) bounds() kv.KeyRange {
	if r.id == nil {
		return kv.KeyRange{Begin: r.key, End: kv.Successor(r.key)}
	}
	return kv.KeyRange{Begin: r.key, End: chunkRange(r.key).End}
}

// keys returns how many keys the record has.
func (r *record) keys() int64 {
	if r.value == nil {
		return int64(len(r.chunks))
	}
	return int64(len(r.chunks)) + 1
}

func (r *record) add(pair kv.KeyValue) {
	if len(pair.Key) == len(r.key) {
		r.value = pair.Value
		return
	}
	r.chunks = append(r.chunks, pair)
}

// errKey says that a key is not that of a record or its chunk.
var errKey = errors.New("it is not the key of a record")
