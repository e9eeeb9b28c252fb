// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
)

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return store.Document{}, err
	}
	return read(ctx, s, "get", func(tx kv.ReadTransaction, k keys) (store.Document, error) {
		found, err := readDocuments(ctx, tx, k, kind, k.documentRange(kind, key), 1)
		if err != nil {
			return store.Document{}, err
		}
		if len(found) == 0 {
			return store.Document{}, store.ErrNotFound
		}
		return found[0], nil
	})
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	if err := kind.Validate(); err != nil || strings.Contains(o.Prefix, "\x00") { // which no key has
		return nil, err
	}
	return read(ctx, s, "list", func(tx kv.ReadTransaction, k keys) ([]store.Document, error) {
		return readDocuments(ctx, tx, k, kind, k.list(kind, o), o.Most())
	})
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	if err := errors.Join(kind.Validate(), d.Validate()); err != nil {
		return 0, err
	}
	mark, now := rand.Text(), s.now()
	version, err := write(ctx, s, "put", func(tx *transaction) (int64, error) {
		old, err := readHead(ctx, tx, tx.keys, kind, d.Key)
		if err != nil {
			return 0, err
		}
		if old.mark == mark { // written by an attempt before
			return old.Version, nil
		}
		if old.Version != d.Version {
			return 0, tx.conflictError()
		}
		created := document{Document: d, mark: mark}
		created.Created, created.Updated = old.Created, now
		if old.Version == 0 {
			created.Created = now
			if old.Version, err = counter(ctx, tx.Snapshot(), tx.keys.deleted(kind)); err != nil {
				return 0, err
			}
		}
		created.Version = old.Version + 1
		tx.removeDocument(kind, old)
		tx.putDocument(kind, created)
		return created.Version, nil
	})
	if err == nil && !d.Expires.IsZero() && s.puts.Add(1)%sweepEvery == 0 {
		_ = s.sweepExpired(ctx) // the document is stored; the next sweep removes the rest
	}
	return version, err
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	if err := errors.Join(kind.Validate(), store.CheckName(key)); err != nil {
		return err
	}
	_, err := write(ctx, s, "delete", func(tx *transaction) (none struct{}, err error) {
		d, err := readHead(ctx, tx, tx.keys, kind, key)
		switch {
		case err != nil || d.Version == 0:
			return none, err
		case d.Version != version:
			return none, tx.conflictError()
		}
		tx.eraseDocument(kind, d)
		return none, nil
	})
	return err
}
