// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

const (
	documentFormat = 1
	// chunkSize is how many bytes of a document's value are in one pair.
	chunkSize = 90_000
)

// document is a stored document: a head, which ends with the first chunk of the value,
// and further chunks.
type document struct {
	store.Document
	size int    // of the value
	mark string // of the call that stored it
}

// encodeHead returns the value of the head's key: (format, version, type, created,
// updated, expires, mark, size of the value), then the first chunk. Times are
// Unix nanoseconds, 0 for none.
func (d document) encodeHead() []byte {
	b := tuple.AppendInt(nil, documentFormat)
	b = tuple.AppendInt(b, d.Version)
	b = tuple.AppendString(b, d.Type)
	for _, t := range []time.Time{d.Created, d.Updated, d.Expires} {
		b = tuple.AppendInt(b, nanoseconds(t))
	}
	b = tuple.AppendString(b, d.mark)
	b = tuple.AppendInt(b, int64(len(d.Value)))
	return append(b, d.Value[:min(chunkSize, len(d.Value))]...)
}

// nanoseconds returns a time as it is stored. Times beyond the year 2262, which
// it cannot express, become the last one.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Year() >= 2262:
		return math.MaxInt64
	}
	return t.UnixNano()
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// decode reads a head.
func (d *document) decode(b []byte) (err error) {
	var created, updated, expires, size int64
	ints := func(into ...*int64) {
		for _, n := range into {
			if err == nil {
				*n, b, err = tuple.ReadInt(b)
			}
		}
	}
	text := func(into *string) {
		if err == nil {
			*into, b, err = tuple.ReadString(b)
		}
	}
	b, err = newer.ReadFormat(b, documentFormat)
	ints(&d.Version)
	text(&d.Type)
	ints(&created, &updated, &expires)
	text(&d.mark)
	ints(&size)
	if err != nil {
		return err
	}
	if d.Version < 1 || size < 0 || size > store.MaxValue || len(b) != min(chunkSize, int(size)) {
		return fmt.Errorf("version %d, size %d and %d further bytes do not make a document", d.Version, size, len(b))
	}
	d.Created, d.Updated, d.Expires = timeOf(created), timeOf(updated), timeOf(expires)
	d.size, d.Value = int(size), append(make([]byte, 0, size), b...)
	return nil
}

// readHead returns the head of a document; one with the version 0 if there is none.
func readHead(ctx context.Context, tx kv.ReadTransaction, k keys, kind store.Kind, key string) (d document, err error) {
	at := k.document(kind, key)
	value, err := tx.Get(at).Get(ctx)
	if err != nil || value == nil {
		return d, err
	}
	if err := d.decode(value); err != nil {
		return d, corrupt(at, err)
	}
	d.Key = key
	return d, nil
}

// addChunk appends a pair that follows the head.
func (d *document) addChunk(pair kv.KeyValue) error {
	if d.Value = append(d.Value, pair.Value...); len(d.Value) > d.size {
		return corrupt(pair.Key, fmt.Errorf("the document has more than its %d bytes", d.size))
	}
	return nil
}

// checkComplete returns an error if chunks are missing.
func (d *document) checkComplete(k keys, kind store.Kind) error {
	if len(d.Value) < d.size {
		return corrupt(k.document(kind, d.Key), fmt.Errorf("%d of its %d bytes are missing", d.size-len(d.Value), d.size))
	}
	return nil
}

// reader assembles documents from their pairs.
type reader struct {
	keys  keys
	kind  store.Kind
	found []store.Document
	open  document // the last one, of which chunks may follow
}

// readDocuments returns the first documents of a range.
func readDocuments(ctx context.Context, tx kv.ReadTransaction, k keys, kind store.Kind, r kv.KeyRange, limit int) ([]store.Document, error) {
	in := reader{keys: k, kind: kind}
	front := len(k.pack(letterDocument, string(kind)))
	for pair, err := range tx.GetRange(r.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).All(ctx) {
		if err != nil {
			return nil, err
		}
		key, chunk, err := tuple.ReadString(pair.Key[front:])
		if err != nil {
			return nil, corrupt(pair.Key, err)
		}
		if len(chunk) == 0 && in.open.Key != "" && len(in.found)+1 == limit {
			break
		}
		if err := in.addPair(pair, key, len(chunk) > 0); err != nil {
			return nil, err
		}
	}
	return in.found, in.closeDocument()
}

// addPair reads a pair: a chunk of a document, or the head of the next.
func (in *reader) addPair(pair kv.KeyValue, key string, chunk bool) error {
	switch {
	case chunk && key == in.open.Key:
		return in.open.addChunk(pair)
	case chunk:
		return corrupt(pair.Key, errors.New("a chunk of a document that has no head"))
	}
	if err := in.closeDocument(); err != nil {
		return err
	}
	if err := in.open.decode(pair.Value); err != nil {
		return corrupt(pair.Key, err)
	}
	in.open.Key = key
	return nil
}

// closeDocument closes the open document, if there is one.
func (in *reader) closeDocument() error {
	if in.open.Key == "" {
		return nil
	}
	if err := in.open.checkComplete(in.keys, in.kind); err != nil {
		return err
	}
	in.found = append(in.found, in.open.Document)
	in.open = document{}
	return nil
}

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
