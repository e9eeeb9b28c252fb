// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Query is a question to an index: a range of its keys, a direction and a
// limit. It is immutable: every method returns a new one. Nothing is read
// before All, Slice, First, Count or Page. T is a pointer to an annotated
// struct.
//
// A query of a store that is not bound to a transaction runs in one of its own
// and sees one version of the database. Only if it takes longer than the five
// seconds that a version can be read, it goes on, behind the last record, in a
// new one; a query bound to a transaction then fails with the engine's error
// 1007.
//
// A query bound to a transaction sees what that has written before the query
// began. What is written while it runs, by the loop over its records for
// example, is not yielded: each record comes at most once for each entry that it
// had when the query began. A record that is changed or deleted meanwhile may
// still come as it was.
//
// Records come in the order of the index; where an index is on a slice
// field, a record comes once for each of its elements in the range.
//
// Cost: one range read and one parallel round of gets for each batch, only the
// range read if the index is covering. If the index, or the type for a scan, is
// scattered over N shards, then N range reads, all in one round; each is asked
// for its share of Limit and some more, which for one query in ten thousand with
// 16 shards, one in two hundred with 256, is too little and takes another round.
type Query[T any] erased.Query

// Reverse turns the direction around.
//
//go:noinline
func (q *Query[T]) Reverse() *Query[T] { return (*Query[T])((*erased.Query)(q).Reverse()) }

// Limit lets the query return at most n records; for Page it is the size of a
// page. 0 is no limit.
//
//go:noinline
func (q *Query[T]) Limit(n int) *Query[T] { return (*Query[T])((*erased.Query)(q).Limit(n)) }

// All yields the records. After an error it stops.
//
//go:noinline
func (q *Query[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return allOf[T](ctx, (*erased.Query)(q))
}

// Slice returns all records.
//
//go:noinline
func (q *Query[T]) Slice(ctx context.Context) ([]T, error) {
	return sliceOf[T](ctx, (*erased.Query)(q))
}

// First returns the first record, or [ErrNotFound].
//
//go:noinline
func (q *Query[T]) First(ctx context.Context) (T, error) {
	return typed[T](newQuery((*erased.Query)(q)).first(ctx))
}

// Count returns the number of records. It reads keys only, unless it counts all
// records by id.
//
//go:noinline
func (q *Query[T]) Count(ctx context.Context) (int, error) {
	return newQuery((*erased.Query)(q)).count(ctx)
}

// Page returns the records behind a token, or the first ones if token is empty:
// as many as Limit says, or [Options].PageSize without one. A token holds a
// place in the index, so it works also if the record there was deleted. It is
// bound to the query (index, bounds, direction), the tenant and the database,
// and authenticated: any other token is an [ErrBadToken]. Tokens do not expire;
// the size of the page may differ from call to call.
//
// Each page is a transaction of its own.
//
//go:noinline
func (q *Query[T]) Page(ctx context.Context, token string) (Page[T], error) {
	return pageOf[T](ctx, (*erased.Query)(q), token)
}

// Page is a part of a query's records.
type Page[T any] struct {
	Records []T
	// Next is the token of the next page, empty on the last one. It is made of
	// letters, digits, "-" and "_".
	Next string
}
