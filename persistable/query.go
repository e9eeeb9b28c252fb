// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Query selects the records in a range of an index, in a direction and up to a
// limit. It is immutable: every method returns a new one. All, Slice, First, Count
// and Page read; the others do not. T is a pointer to an annotated struct.
//
// A query of a store that is not bound to a transaction runs in one of its own
// and sees one version of the database. If it takes longer than the five seconds
// that a version can be read, it goes on behind the last record at a new version; a
// query bound to a transaction then fails with the engine's error 1007. [Across] has
// such long reads with tokens to resume them and parts that run side by side.
//
// A query bound to a transaction sees what the transaction had written when the
// query began. It does not yield what is written later, for example by the loop over
// its records: each record comes at most once for each entry that it had when the
// query began. A record that is changed or deleted meanwhile may still come as it
// was.
//
// Records come in the order of the index. In an index on a slice field a record
// comes once for each of its elements in the range, unless the query is one of Find.
//
// Cost: one range read and one parallel round of gets for each batch; if the index is
// covering, only the range read. Of large records, of which 128 have more than two megabytes, a
// round has as many as have two megabytes together. Strings of records that are read together share memory:
// one that is kept keeps up to a kilobyte of others. If the index, or the type for a scan, is scattered
// over N shards, N range reads in one round. Each reads its share of Limit and some
// more; for one query in ten thousand with 16 shards, one in two hundred with 256,
// that is too little and takes another round.
type Query[T any] erased.Query

// Reverse turns the direction around.
//
//go:noinline
func (q *Query[T]) Reverse() *Query[T] { return (*Query[T])((*erased.Query)(q).Reverse()) }

// Limit lets the query return at most n records; for Page it is the size of a
// page. A query with an n below 1 fails when it runs; without Limit there is no limit.
//
//go:noinline
func (q *Query[T]) Limit(n int) *Query[T] { return (*Query[T])((*erased.Query)(q).Limit(n)) }

// FilterLimit lets the query look at most at n records if it leaves some out in memory,
// for conditions that its index does not serve, with an n from 1 to math.MaxInt; below 1
// it fails when it runs. Without FilterLimit, the limit is [DefaultFilterLimit]. A query that would look at
// more stops with a *[FilterLimitError]. A record counts once, even if several alternatives or
// several elements of a slice lead to it; in an intersection each record counts that is in
// one of the two indexes. Records of an alternative that leaves none out do not count; each page
// counts anew.
//
//go:noinline
func (q *Query[T]) FilterLimit(n int) *Query[T] {
	return (*Query[T])((*erased.Query)(q).FilterLimit(n))
}

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
// as many as Limit says, or [Options].PageSize without one. A token is a position in
// the index, so it works also if the record there was deleted. It is authenticated
// and bound to the query (index or conditions, bounds, direction), the tenant and the database:
// any other token is an [ErrBadToken]. A query of Find goes on by the indexes with which it
// began, so that its tokens outlive a deployment that adds one. Tokens do not expire; the size
// of the page may differ from call to call.
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
