// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Page is a part of a query's records, in its order.
type Page[T any] struct {
	Records []T
	// Next is the token of the next page, empty on the last one, and Previous that of the page
	// before, empty on the first one: on a page without a token, and on one that was read back to
	// the beginning. By the time that they are used, records may have come or gone: a page
	// may then be empty, or have fewer records than fit. Tokens are made of letters, digits, "-" and "_".
	Next, Previous string
}

// PageAfter is [Query.Page] for the page that begins after a record, and PageBefore for the one that
// ends before it. v says where: with its values of the query's fields it need not be stored any more.
//
//	page, err := persistable.PageAfter(ctx, orders.ByStatus(Paid).Limit(20), o)
//	page, err = orders.ByStatus(Paid).Limit(20).Page(ctx, page.Next)
//
// The tokens of the page are those of the query. If v does not fit the query, because its values are
// outside of its range, the error is an [ErrNotFound]. Of a record with several entries, in an index on
// a slice, all are before the page, or after it.
//
// They are no methods of the query, so that only a program that uses them compiles them for
// each of its types.
func PageAfter[T any](ctx context.Context, q *Query[T], v T) (Page[T], error) {
	return pageAt(ctx, q, v, false)
}

// PageBefore is [PageAfter] for the page that ends before the record.
func PageBefore[T any](ctx context.Context, q *Query[T], v T) (Page[T], error) {
	return pageAt(ctx, q, v, true)
}

func pageAt[T any](ctx context.Context, q *Query[T], v T, before bool) (Page[T], error) {
	record := untyped(v)
	if record == nil {
		return Page[T]{}, errNoRecord
	}
	return pageOf[T](ctx, (*erased.Query)(q), pageStart{record: record, before: before})
}

func pageOf[T any](ctx context.Context, q *erased.Query, at pageStart) (Page[T], error) {
	var records []T
	e, err := newQuery(q).page(ctx, at, collector(q, &records))
	if err != nil {
		return Page[T]{}, err
	}
	return Page[T]{arrange(e, records), e.next, e.previous}, nil
}
