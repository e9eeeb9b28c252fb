// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// RangeQuery is a [Query] that can be narrowed to a range of the index's next field,
// whose type is F. It is immutable: every method returns a new one. Of several
// bounds on one side the tightest counts. Null sorts before every value.
type RangeQuery[T, F any] erased.Range[F]

// From narrows the range to values not below v.
//
//go:noinline
func (q *RangeQuery[T, F]) From(v F) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Narrow(erased.From, v))
}

// After narrows the range to values above v.
//
//go:noinline
func (q *RangeQuery[T, F]) After(v F) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Narrow(erased.After, v))
}

// To narrows the range to values not above v.
//
//go:noinline
func (q *RangeQuery[T, F]) To(v F) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Narrow(erased.To, v))
}

// Before narrows the range to values below v, null included.
//
//go:noinline
func (q *RangeQuery[T, F]) Before(v F) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Narrow(erased.Before, v))
}

// Equal narrows the range to the value v.
//
//go:noinline
func (q *RangeQuery[T, F]) Equal(v F) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Narrow(erased.Equal, v))
}

// Reverse turns the direction around.
//
//go:noinline
func (q *RangeQuery[T, F]) Reverse() *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Reverse())
}

// Limit lets the query return at most n records; for Page it is the size of a
// page. A query with an n below 1 fails when it runs; without Limit there is no limit.
//
//go:noinline
func (q *RangeQuery[T, F]) Limit(n int) *RangeQuery[T, F] {
	return (*RangeQuery[T, F])((*erased.Range[F])(q).Limit(n))
}

// Query returns the query without the type of its range.
//
//go:noinline
func (q *RangeQuery[T, F]) Query() *Query[T] {
	return (*Query[T])((*erased.Range[F])(q).Query())
}

// All is [Query.All].
//
//go:noinline
func (q *RangeQuery[T, F]) All(ctx context.Context) iter.Seq2[T, error] {
	return allOf[T](ctx, (*erased.Range[F])(q).Query())
}

// Slice is [Query.Slice].
//
//go:noinline
func (q *RangeQuery[T, F]) Slice(ctx context.Context) ([]T, error) {
	return sliceOf[T](ctx, (*erased.Range[F])(q).Query())
}

// First is [Query.First].
//
//go:noinline
func (q *RangeQuery[T, F]) First(ctx context.Context) (T, error) {
	return typed[T](newQuery((*erased.Range[F])(q).Query()).first(ctx))
}

// Count is [Query.Count].
//
//go:noinline
func (q *RangeQuery[T, F]) Count(ctx context.Context) (int, error) {
	return newQuery((*erased.Range[F])(q).Query()).count(ctx)
}

// Page is [Query.Page].
//
//go:noinline
func (q *RangeQuery[T, F]) Page(ctx context.Context, token string) (Page[T], error) {
	return pageOf[T](ctx, (*erased.Range[F])(q).Query(), token)
}

// Explain is [Query.Explain].
//
//go:noinline
func (q *RangeQuery[T, F]) Explain(ctx context.Context) (*Explanation, error) {
	return newQuery((*erased.Range[F])(q).Query()).explain(ctx)
}

// ScanRange is [Store.Scan] with a range of ids:
//
//	persistable.ScanRange(&orders.Store).From(id).Limit(20).All(ctx)
//
// It is not a method of the store, so that only a program that uses it compiles
// a range of ids for each of its types.
func ScanRange[T, ID any](s *Store[T, ID]) *RangeQuery[T, ID] {
	return (*RangeQuery[T, ID])((*erased.Store[ID])(s).Scan())
}
