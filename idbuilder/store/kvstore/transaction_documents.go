// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// putDocument writes the pairs of a document.
func (tx *transaction) putDocument(kind store.Kind, d document) {
	tx.Set(tx.keys.document(kind, d.Key), d.encodeHead())
	for i, at := int64(1), chunkSize; at < len(d.Value); i, at = i+1, at+chunkSize {
		tx.Set(tuple.AppendInt(tx.keys.document(kind, d.Key), i), d.Value[at:min(at+chunkSize, len(d.Value))])
	}
	if !d.Expires.IsZero() {
		tx.Set(tx.keys.expiry(nanoseconds(d.Expires), kind, d.Key), nil)
	}
}

// removeDocument clears the pairs of a document, of which the head was read.
func (tx *transaction) removeDocument(kind store.Kind, d document) {
	if d.Key == "" {
		return
	}
	tx.ClearRange(tx.keys.documentRange(kind, d.Key))
	if !d.Expires.IsZero() {
		tx.Clear(tx.keys.expiry(nanoseconds(d.Expires), kind, d.Key))
	}
}

// eraseDocument removes a document and stores its version, so that the next document
// with its key has a greater one. The maximum is written without reading it:
// deletions of one kind do not conflict. A document that is created reads it as
// a snapshot: all deletions of its own key are at or before its read version,
// or conflict with its read of the head.
func (tx *transaction) eraseDocument(kind store.Kind, d document) {
	tx.removeDocument(kind, d)
	tx.Atomic(kv.Max, tx.keys.deleted(kind), kv.Int64(d.Version))
}

// setSequence stores a sequence under its next version.
func (tx *transaction) setSequence(name string, q sequence, mark string) error {
	if q.Version == math.MaxInt64 {
		return fmt.Errorf("the sequence %q has the highest possible version", name)
	}
	q.Version, q.mark = q.Version+1, mark
	tx.Set(tx.keys.sequence(name), q.encode())
	return nil
}

// removeExpired removes the document that a key of the expiry index names.
func (tx *transaction) removeExpired(ctx context.Context, key []byte) error {
	t, err := tuple.Unpack(key[len(tx.keys.prefix):])
	if err != nil || len(t) != 4 {
		return corrupt(key, fmt.Errorf("not an entry of the index of expiry: %w", err))
	}
	kind, _ := t[2].(string)
	name, _ := t[3].(string)
	d, err := readHead(ctx, tx, tx.keys, store.Kind(kind), name)
	if err != nil {
		return err
	}
	if at, _ := t[1].(int64); d.Version > 0 && nanoseconds(d.Expires) == at {
		tx.eraseDocument(store.Kind(kind), d)
	}
	tx.Clear(key)
	return nil
}
