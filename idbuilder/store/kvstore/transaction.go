// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/kv"
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
