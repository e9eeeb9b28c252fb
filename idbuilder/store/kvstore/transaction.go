// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// transaction is one attempt of a call that writes.
type transaction struct {
	kv.Transaction
	keys keys
	// maybeCommitted says that an earlier attempt of this call may have committed.
	maybeCommitted bool
}

// write runs fn in a transaction, below the directory, if the schema is one that
// this program knows.
func write[T any](ctx context.Context, s *Store, what string, fn func(*transaction) (T, error)) (result T, err error) {
	if s.closed.Load() {
		return result, store.ErrClosed
	}
	tx, err := s.db.Begin()
	if err != nil {
		return result, s.explainError(what, err)
	}
	err = kv.Retry(ctx, tx, func(a kv.Attempt) error {
		dir, err := s.dirs.Open(ctx, tx, s.path)
		if err != nil {
			return err
		}
		k, err := keysOf(dir)
		if err != nil {
			return err
		}
		version := tx.Get(k.schema()) // arrives while fn reads
		result, err = fn(&transaction{Transaction: tx, keys: k, maybeCommitted: a.MaybeCommitted})
		return errors.Join(checkVersion(ctx, k, version), err)
	})
	return result, s.explainError(what, err)
}

// checkVersion waits for the version of the schema. Its errors come before those of fn,
// which may have read a layout that this program does not know.
func checkVersion(ctx context.Context, k keys, version kv.Future[[]byte]) error {
	value, err := version.Get(ctx)
	if err != nil {
		return err
	}
	return judgeSchema(k, value)
}

// read runs fn in a transaction that only reads.
func read[T any](ctx context.Context, s *Store, what string, fn func(kv.ReadTransaction, keys) (T, error)) (result T, err error) {
	if s.closed.Load() {
		return result, store.ErrClosed
	}
	result, err = kv.ReadTransact(ctx, s.db, func(tx kv.ReadTransaction) (result T, err error) {
		dir, err := s.dirs.OpenRead(ctx, tx, s.path)
		if err != nil {
			return result, err
		}
		k, err := keysOf(dir)
		if err != nil {
			return result, err
		}
		version := tx.Get(k.schema())
		result, err = fn(tx, k)
		return result, errors.Join(checkVersion(ctx, k, version), err)
	})
	return result, s.explainError(what, err)
}

// conflictError is the error of a comparison that fails. If an earlier attempt may have
// committed, the change may have been made, and another one after it.
func (tx *transaction) conflictError() error {
	if tx.maybeCommitted {
		return fmt.Errorf("%w, and another caller has written since", kv.ErrOutcomeUnknown)
	}
	return store.ErrConflict
}

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

// sequenceFormat is the first element of a sequence's value.
const sequenceFormat = 1

// sequence is a stored sequence.
type sequence struct {
	store.Sequence
	mark string // of the call that wrote it
}

// encode returns the value of the key: (format, value, version, mark).
func (q sequence) encode() []byte {
	b := tuple.AppendInt(nil, sequenceFormat)
	b = tuple.AppendInt(b, q.Value)
	b = tuple.AppendInt(b, q.Version)
	return tuple.AppendString(b, q.mark)
}

func (q *sequence) decode(b []byte) error {
	b, err := newer.ReadFormat(b, sequenceFormat)
	if err != nil {
		return err
	}
	if q.Value, b, err = tuple.ReadInt(b); err != nil {
		return err
	}
	if q.Version, b, err = tuple.ReadInt(b); err != nil {
		return err
	}
	if q.mark, b, err = tuple.ReadString(b); err != nil {
		return err
	}
	if len(b) > 0 || q.Version < 1 {
		return fmt.Errorf("version %d and %d further bytes do not make a sequence", q.Version, len(b))
	}
	return nil
}

// readSequence returns a sequence; one with the version 0 if there is none.
func readSequence(ctx context.Context, tx kv.ReadTransaction, k keys, name string) (q sequence, err error) {
	key := k.sequence(name)
	value, err := tx.Get(key).Get(ctx)
	if err != nil || value == nil {
		return q, err
	}
	if err := q.decode(value); err != nil {
		return q, corrupt(key, err)
	}
	return q, nil
}
