// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// RowRange is a [RangeQuery] that reads rows, of type R, as [RowQuery] does. It is
// immutable.
type RowRange[R, F any] erased.RowRange[R, F]

func (q *RowRange[R, F]) erased() *erased.RowRange[R, F] { return (*erased.RowRange[R, F])(q) }

func (q *RowRange[R, F]) with(over *erased.Range[F]) *RowRange[R, F] {
	return (*RowRange[R, F])(q.erased().With(over))
}

// From narrows the range to values not below v.
func (q *RowRange[R, F]) From(v F) *RowRange[R, F] { return q.narrow(erased.From, v) }

// After narrows the range to values above v.
func (q *RowRange[R, F]) After(v F) *RowRange[R, F] { return q.narrow(erased.After, v) }

// To narrows the range to values not above v.
func (q *RowRange[R, F]) To(v F) *RowRange[R, F] { return q.narrow(erased.To, v) }

// Before narrows the range to values below v, null included.
func (q *RowRange[R, F]) Before(v F) *RowRange[R, F] { return q.narrow(erased.Before, v) }

// Equal narrows the range to the value v.
func (q *RowRange[R, F]) Equal(v F) *RowRange[R, F] { return q.narrow(erased.Equal, v) }

func (q *RowRange[R, F]) narrow(c erased.Comparison, v F) *RowRange[R, F] {
	return q.with(q.erased().Range().Narrow(c, v))
}

// Reverse turns the direction around.
func (q *RowRange[R, F]) Reverse() *RowRange[R, F] {
	return q.with(q.erased().Range().Reverse())
}

// Limit is [RowQuery.Limit].
func (q *RowRange[R, F]) Limit(n int) *RowRange[R, F] {
	return q.with(q.erased().Range().Limit(n))
}

// Query returns the query without the type of its range.
func (q *RowRange[R, F]) Query() *RowQuery[R] {
	return (*RowQuery[R])(q.erased().Rows())
}

// All is [RowQuery.All].
func (q *RowRange[R, F]) All(ctx context.Context) iter.Seq2[R, error] { return q.Query().All(ctx) }

// Slice is [RowQuery.Slice].
func (q *RowRange[R, F]) Slice(ctx context.Context) ([]R, error) { return q.Query().Slice(ctx) }

// First is [RowQuery.First].
func (q *RowRange[R, F]) First(ctx context.Context) (R, error) { return q.Query().First(ctx) }

// Page is [RowQuery.Page].
func (q *RowRange[R, F]) Page(ctx context.Context, token string) (Page[R], error) {
	return q.Query().Page(ctx, token)
}

// Explain is [Query.Explain].
func (q *RowRange[R, F]) Explain(ctx context.Context) (*Explanation, error) {
	return q.Query().Explain(ctx)
}
