// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"
)

// RangeQuery is a [Query] whose next field, of type F, can be narrowed to a
// range. It is immutable: every method returns a new one. Several bounds on one
// side: the tighter one counts. Null sorts before every value.
type RangeQuery[T, F any] struct {
	query Query[T]
	enc   func([]byte, F) []byte
}

// Range returns q as a query with a range on its next field, whose values enc
// appends as tuple elements. It is for generated code.
func Range[T, F any](q Query[T], enc func([]byte, F) []byte) RangeQuery[T, F] {
	return RangeQuery[T, F]{q, enc}
}

// From narrows the range to values not below v.
func (q RangeQuery[T, F]) From(v F) RangeQuery[T, F] {
	if q.enc != nil {
		q.query.bounds = q.query.bounds.From(q.enc(nil, v))
	}
	return q
}

// After narrows the range to values above v.
func (q RangeQuery[T, F]) After(v F) RangeQuery[T, F] {
	if q.enc != nil {
		q.query.bounds = q.query.bounds.After(q.enc(nil, v))
	}
	return q
}

// To narrows the range to values not above v.
func (q RangeQuery[T, F]) To(v F) RangeQuery[T, F] {
	if q.enc != nil {
		q.query.bounds = q.query.bounds.To(q.enc(nil, v))
	}
	return q
}

// Before narrows the range to values below v, null included.
func (q RangeQuery[T, F]) Before(v F) RangeQuery[T, F] {
	if q.enc != nil {
		q.query.bounds = q.query.bounds.Before(q.enc(nil, v))
	}
	return q
}

// Equal narrows the range to the value v.
func (q RangeQuery[T, F]) Equal(v F) RangeQuery[T, F] { return q.From(v).To(v) }

// Reverse turns the direction around.
func (q RangeQuery[T, F]) Reverse() RangeQuery[T, F] {
	q.query = q.query.Reverse()
	return q
}

// Limit lets the query return at most n records; for Page it is the size of a
// page. 0 is no limit.
func (q RangeQuery[T, F]) Limit(n int) RangeQuery[T, F] {
	q.query = q.query.Limit(n)
	return q
}

// Query returns the query without the type of its range.
func (q RangeQuery[T, F]) Query() Query[T] { return q.query }

// All is [Query.All].
func (q RangeQuery[T, F]) All(ctx context.Context) iter.Seq2[*T, error] { return q.query.All(ctx) }

// Slice is [Query.Slice].
func (q RangeQuery[T, F]) Slice(ctx context.Context) ([]*T, error) { return q.query.Slice(ctx) }

// First is [Query.First].
func (q RangeQuery[T, F]) First(ctx context.Context) (*T, error) { return q.query.First(ctx) }

// Count is [Query.Count].
func (q RangeQuery[T, F]) Count(ctx context.Context) (int, error) { return q.query.Count(ctx) }

// Page is [Query.Page].
func (q RangeQuery[T, F]) Page(ctx context.Context, token string) (Page[T], error) {
	return q.query.Page(ctx, token)
}
