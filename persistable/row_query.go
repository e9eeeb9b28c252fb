// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// RowQuery is a [Query] that reads rows, of type R: what the entries of an index hold of
// each record. It reads no records, so it costs one round, whatever the number of
// rows. It is immutable.
type RowQuery[R any] erased.Rows[R]

func (q *RowQuery[R]) erased() *erased.Rows[R] { return (*erased.Rows[R])(q) }

// Reverse turns the direction around.
func (q *RowQuery[R]) Reverse() *RowQuery[R] {
	return (*RowQuery[R])(q.erased().With(q.erased().Query().Reverse()))
}

// Limit is [Query.Limit] of rows.
func (q *RowQuery[R]) Limit(n int) *RowQuery[R] {
	return (*RowQuery[R])(q.erased().With(q.erased().Query().Limit(n)))
}

// All is [Query.All] of rows.
func (q *RowQuery[R]) All(ctx context.Context) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		newQuery(q.erased().Query()).yieldAll(ctx, func(v any, err error) bool {
			var row R
			if err == nil {
				row, err = q.read(v)
				return yield(row, err) && err == nil
			}
			return yield(row, err)
		})
	}
}

// Slice is [Query.Slice] of rows.
func (q *RowQuery[R]) Slice(ctx context.Context) (rows []R, err error) {
	_, failed := newQuery(q.erased().Query()).collectRecords(ctx, q.collector(&rows, &err))
	if failed != nil || err != nil {
		return nil, cmp.Or(failed, err)
	}
	return rows, nil
}

// First is [Query.First] of rows.
func (q *RowQuery[R]) First(ctx context.Context) (R, error) {
	v, err := newQuery(q.erased().Query()).first(ctx)
	if err != nil {
		var none R
		return none, err
	}
	return q.read(v)
}

// Page is [Query.Page] of rows.
func (q *RowQuery[R]) Page(ctx context.Context, token string) (p Page[R], err error) {
	var rows []R
	e, failed := newQuery(q.erased().Query()).page(ctx, pageStart{token: token}, q.collector(&rows, &err))
	if failed != nil || err != nil {
		return Page[R]{}, cmp.Or(failed, err)
	}
	return Page[R]{arrange(e, rows), e.next, e.previous}, nil
}

// Explain is [Query.Explain].
func (q *RowQuery[R]) Explain(ctx context.Context) (*Explanation, error) {
	return explain(ctx, q.erased().Query())
}

// read returns the row of an *erased.Row.
func (q *RowQuery[R]) read(v any) (R, error) {
	row, err := q.erased().Read(v.(*erased.Row))
	if err != nil {
		var none R
		return none, newQuery(q.erased().Query()).damagedRow(err)
	}
	return row, nil
}

// collector returns a function that appends a row, and drops all when it is called
// with nil. It keeps the first error.
func (q *RowQuery[R]) collector(into *[]R, failed *error) func(v any) {
	return func(v any) {
		if v == nil {
			*into, *failed = nil, nil
			return
		}
		if *into == nil {
			*into = make([]R, 0, firstRoom(q.erased().Query()))
		}
		row, err := q.read(v)
		*into, *failed = append(*into, row), cmp.Or(*failed, err)
	}
}

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
