// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
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
