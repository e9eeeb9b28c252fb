// SPDX-License-Identifier: Apache-2.0

// Package kv has the declarations of package kv that the tests of analyzers need.
package kv

import (
	"context"
	"iter"
)

type Future[T any] struct{ value T }

func (f Future[T]) Get(ctx context.Context) (T, error) { return f.value, nil }

type KeyRange struct{ Begin, End []byte }

type KeyValue struct{ Key, Value []byte }

type SelectorRange struct{ Begin, End []byte }

type RangeOptions struct{ Limit int }

type RangeResult struct{}

func (r RangeResult) All(ctx context.Context) iter.Seq2[KeyValue, error] { return nil }

func (r RangeResult) Slice(ctx context.Context) ([]KeyValue, error) { return nil, nil }

type ReadTransactor interface {
	ReadTransact(ctx context.Context, fn func(ReadTransaction) error) error
}

type Transactor interface {
	ReadTransactor
	Transact(ctx context.Context, fn func(Transaction) error) error
}

type Database interface {
	Transactor
	Begin() (Transaction, error)
	Close() error
}

type ReadTransaction interface {
	ReadTransactor
	Get(key []byte) Future[[]byte]
	GetRange(r SelectorRange, o RangeOptions) RangeResult
}

type Option int

type Transaction interface {
	ReadTransaction
	Transactor
	Set(key, value []byte)
	Watch(key []byte) Future[struct{}]
	SetOption(o Option, arg int64) error
	GetVersionstamp() Future[[]byte]
	Commit(ctx context.Context) error
}

type Attempt struct{ Number int }

func Retry(ctx context.Context, tx Transaction, fn func(Attempt) error) error { return nil }

func Transact[T any](ctx context.Context, t Transactor, fn func(Transaction) (T, error)) (T, error) {
	return *new(T), nil
}
