// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
)

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
			return none, tx.conflictError()
		}
		q.Value = value
		return none, tx.setSequence(name, q, mark)
	})
	return err
}

// DeleteSequence implements [store.Store].
func (s *Store) DeleteSequence(ctx context.Context, name string) (found bool, err error) {
	if err := store.CheckName(name); err != nil {
		return false, err
	}
	return write(ctx, s, "delete sequence", func(tx *transaction) (bool, error) {
		key := tx.keys.sequence(name)
		value, err := tx.Get(key).Get(ctx)
		if err == nil && value != nil {
			tx.Clear(key)
		}
		return value != nil, err
	})
}
