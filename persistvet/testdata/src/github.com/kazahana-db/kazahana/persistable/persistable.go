// SPDX-License-Identifier: Apache-2.0

// Package persistable has the declarations of package persistable that the tests of
// analyzers need.
package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
)

type Index struct{}

type Tx struct{}

func (tx Tx) KV() kv.Transaction { return nil }

type DB struct{}

func (db *DB) Engine() kv.Database { return nil }

func (db *DB) IDs() idgen.Generator { return nil }

func (db *DB) In(tx kv.Transaction) Tx { return Tx{} }

func (db *DB) ReadTransact(ctx context.Context, fn func(tx Tx) error) (err error) { return nil }

func (db *DB) RemoveDirectory(ctx context.Context, path ...string) error { return nil }

func (db *DB) Transact(ctx context.Context, fn func(tx Tx) error) (err error) { return nil }

type Condition[T any] struct{}

func And[T any](conditions ...Condition[T]) Condition[T] { return Condition[T]{} }

func Or[T any](conditions ...Condition[T]) Condition[T] { return Condition[T]{} }

type Field[T, F any] struct{}

func (f *Field[T, F]) Equal(v F) Condition[T] { return Condition[T]{} }

func (f *Field[T, F]) From(v F) Condition[T] { return Condition[T]{} }

func (f *Field[T, F]) Before(v F) Condition[T] { return Condition[T]{} }

func HasPrefix[T, F any](f Field[T, F], prefix string) Condition[T] { return Condition[T]{} }

func (f *Field[T, F]) In(values ...F) Condition[T] { return Condition[T]{} }

type Query[T any] struct{}

func (q *Query[T]) Slice(ctx context.Context) ([]T, error) { return nil, nil }

type Store[T, ID any] struct{}

func (s *Store[T, ID]) AllowScan() *Store[T, ID] { return s }

func (s *Store[T, ID]) Create(ctx context.Context, v T) error { return nil }

func (s *Store[T, ID]) Find(conditions ...Condition[T]) (*Query[T], error) { return nil, nil }

func (s *Store[T, ID]) FindOne(ctx context.Context, conditions ...Condition[T]) (T, error) {
	return *new(T), nil
}

func (s *Store[T, ID]) Get(ctx context.Context, id ID) (T, error) { return *new(T), nil }

func (s *Store[T, ID]) In(tx Tx) Store[T, ID] { return *s }

func (s *Store[T, ID]) Path() []string { return nil }

func (s *Store[T, ID]) Update(ctx context.Context, id ID, change func(v T) error) error {
	return nil
}

func OwnTransaction(ctx context.Context) context.Context { return ctx }
