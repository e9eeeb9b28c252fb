// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// sequenceFormat is the first element of a sequence's value.
const sequenceFormat = 1

// sequence is what is stored of one.
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
	format, b, err := tuple.ReadInt(b)
	if err != nil {
		return err
	}
	if format != sequenceFormat {
		return fmt.Errorf("it is of format %d; this program knows format %d", format, sequenceFormat)
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
		return fmt.Errorf("version %d and %d further bytes make no sequence", q.Version, len(b))
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

// Reserve implements [store.Store].
func (s *Store) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	if err := errors.Join(store.CheckName(name), r.Validate()); err != nil {
		return store.Range{}, err
	}
	mark := rand.Text()
	var made store.Range // by the last attempt
	return write(ctx, s, "reserve", func(tx *transaction) (store.Range, error) {
		q, err := readSequence(ctx, tx, tx.keys, name)
		if err != nil || q.mark == mark { // written by an attempt before
			return made, err
		}
		if q.Version == 0 {
			q.Value = r.Start
		}
		made = store.Range{From: q.Value, Version: q.Version + 1}
		if made.To, err = r.Advance(q.Value); err != nil {
			return store.Range{}, err
		}
		q.Value = made.To
		return made, tx.setSequence(name, q, mark)
	})
}

// setSequence stores a sequence under its next version.
func (tx *transaction) setSequence(name string, q sequence, mark string) error {
	if q.Version == math.MaxInt64 {
		return fmt.Errorf("the sequence %q has the last version that there is", name)
	}
	q.Version, q.mark = q.Version+1, mark
	tx.Set(tx.keys.sequence(name), q.encode())
	return nil
}

// Sequence implements [store.Store].
func (s *Store) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	if err := store.CheckName(name); err != nil {
		return store.Sequence{}, err
	}
	return read(ctx, s, "sequence", func(tx kv.ReadTransaction, k keys) (store.Sequence, error) {
		q, err := readSequence(ctx, tx, k, name)
		if err == nil && q.Version == 0 {
			err = store.ErrNotFound
		}
		return q.Sequence, err
	})
}

// SetSequence implements [store.Store].
func (s *Store) SetSequence(ctx context.Context, name string, value, version int64) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	mark := rand.Text()
	_, err := write(ctx, s, "set sequence", func(tx *transaction) (none struct{}, err error) {
		q, err := readSequence(ctx, tx, tx.keys, name)
		if err != nil || q.mark == mark { // written by an attempt before
			return none, err
		}
		if q.Version != version {
			return none, tx.conflict()
		}
		q.Value = value
		return none, tx.setSequence(name, q, mark)
	})
	return err
}
