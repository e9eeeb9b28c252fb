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
// that a version can be read, it goes on after the last record at a new version; a
// query bound to a transaction then fails with the engine's error 1007. [Across] has
// such long reads with tokens to resume them and parts that run side by side.
//
// A query bound to a transaction sees what the transaction had written when the
// query began. It does not yield what is written later, for example by the loop over
// its records: each record comes at most once for each entry that it had when the
// query began. A record that is changed or deleted during the query may still come as it
// was.
//
// Records come in the order of the index. In an index on a slice field a record
// comes once for each of its elements in the range, unless the query is one of Find.
//
// Cost: one range read and one parallel round of gets for each batch; if the index is
// covering, only the range read. A round reads at most 128 records, and fewer large ones: about two
// megabytes. Strings of records that are read together share memory:
// one that is kept keeps up to a kilobyte of others. If the index, or the type for a scan, is scattered
// over N shards, N range reads in one round. Each reads its share of Limit and some
// more; for one query in ten thousand with 16 shards, one in two hundred with 256,
// that is too little and takes another round.
type Query[T any] erased.Query

// Reverse turns the direction around.
//
//go:noinline
func (q *Query[T]) Reverse() *Query[T] { return (*Query[T])((*erased.Query)(q).Reverse()) }

// NoLimit is the n of Limit, FilterLimit and generated methods such as TopByScore that sets no limit.
const NoLimit = erased.NoLimit

// Limit lets the query return at most n records; for Page it is the size of a
// page. Without Limit there is no limit, and [NoLimit] takes one off. A query with an n below
// 1 fails when it runs: a number that a program counts down, or gets from a client, never
// means all records by being 0.
//
//go:noinline
func (q *Query[T]) Limit(n int) *Query[T] { return (*Query[T])((*erased.Query)(q).Limit(n)) }

// FilterLimit lets the query look at most at n records if it leaves some out in memory,
// for conditions that its index does not serve, or at any number for [NoLimit]; with an n below 1
// it fails when it runs. Without FilterLimit, the limit is [DefaultFilterLimit]. A query that would look at
// more stops with an [ErrFilterLimit]. A record counts once, even if several alternatives or
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

// Count returns the number of records, of at most Limit. If the type has a Count marker by
// just the fields that the query has equal values of, Count reads the number from there, in one
// round; [Explanation.Count] says so. Otherwise it counts: keys only, or records if it counts
// them by id, by alternatives or with a filter, which FilterLimit bounds. That takes as long as
// reading all pages.
//
//go:noinline
func (q *Query[T]) Count(ctx context.Context) (int, error) {
	return newQuery((*erased.Query)(q)).count(ctx)
}

// Page returns the page of a token, [Page.Next] or [Page.Previous] of another page, or the first
// one if token is empty: as many records as Limit says, or [Options].PageSize without one. A token
// is a position in the index, so it works even if the record there was deleted. It is authenticated
// and bound to the query (index or conditions, bounds, direction), the tenant and the database:
// any other token is an [ErrBadToken]. A query of Find goes on by the indexes with which it
// began, so that its tokens outlive a deployment that adds one. Tokens do not expire; the size
// of the page may differ from call to call. [PageAfter] and [PageBefore] begin at a record, and
// [Query.Count] has the total.
//
// Each page is a transaction of its own.
//
//go:noinline
func (q *Query[T]) Page(ctx context.Context, token string) (Page[T], error) {
	return pageOf[T](ctx, (*erased.Query)(q), pageStart{token: token})
}

// Explain returns how the query would read now: the first of its plans with indexes that are
// readable, with the bounds of each range, and how many keys and bytes it has. It
// reads the first few kilobytes of each range, and conflicts with nothing there:
// a range that ends within them is counted, a longer one estimated. If all indexes that
// the query needs are being built, it returns the error that the query would. Explaining
// takes one round, and one more if the process does not know the store.
//
//go:noinline
func (q *Query[T]) Explain(ctx context.Context) (*Explanation, error) {
	return explain(ctx, (*erased.Query)(q))
}

// RangeQuery is a [Query] that can be narrowed to a range of the index's next field,
// which has type F. It is immutable: every method returns a new one. Of several
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

// Limit is [Query.Limit].
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
	return pageOf[T](ctx, (*erased.Range[F])(q).Query(), pageStart{token: token})
}

// Explain is [Query.Explain].
//
//go:noinline
func (q *RangeQuery[T, F]) Explain(ctx context.Context) (*Explanation, error) {
	return explain(ctx, (*erased.Range[F])(q).Query())
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

// Condition is a condition on fields of T, a pointer to an annotated struct: on one,
// made by its [Field], or on several, made by [Or] and [And]. The zero Condition is absent, as
// if it were not given, for filters that a request may leave out:
//
//	var status persistable.Condition[*Order] // set it if the request names a status
//	q, err := orders.Find(OrderFields.CreatedAt.From(t0), status)
type Condition[T any] erased.Condition

// Or is the condition that at least one of some conditions holds; Or of nothing holds
// for no record. It leaves out conditions that are absent, and is absent if it has only such.
// Each alternative of a query is a lane of its own; there may be 256.
func Or[T any](conditions ...Condition[T]) Condition[T] {
	return Condition[T](erased.AnyOf(untypedConditions(conditions)))
}

// And is the condition that all of some conditions hold, for use in [Or]. It is absent if all of
// them are.
func And[T any](conditions ...Condition[T]) Condition[T] {
	return Condition[T](erased.AllOf(untypedConditions(conditions)))
}

// Field is a field of T with values of type F: what conditions are made of.
// Generated code has a variable with one for each field that has values which can be
// compared: all but maps, and types with an encoding of their own.
type Field[T, F any] erased.Field[F]

// Equal is the condition that the field is v. A field that is a slice must have
// v as an element.
//
//go:noinline
func (f *Field[T, F]) Equal(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.Equal, v))
}

// From is the condition that the field is not below v.
//
//go:noinline
func (f *Field[T, F]) From(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.From, v))
}

// After is the condition that the field is above v.
//
//go:noinline
func (f *Field[T, F]) After(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.After, v))
}

// To is the condition that the field is not above v.
//
//go:noinline
func (f *Field[T, F]) To(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.To, v))
}

// Before is the condition that the field is below v.
//
//go:noinline
func (f *Field[T, F]) Before(v F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).Where(erased.Before, v))
}

// In is the condition that the field is one of some values, at most 256. A field that
// is a slice must have one of them as an element. Without a value it holds for no record.
//
//go:noinline
func (f *Field[T, F]) In(values ...F) Condition[T] {
	return Condition[T]((*erased.Field[F])(f).In(values))
}

func allOf[T any](ctx context.Context, q *erased.Query) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		newQuery(q).yieldAll(ctx, func(v any, err error) bool {
			record, _ := v.(T)
			return yield(record, err)
		})
	}
}

func sliceOf[T any](ctx context.Context, q *erased.Query) ([]T, error) {
	var all []T
	if _, err := newQuery(q).collectRecords(ctx, collector(q, &all)); err != nil {
		return nil, err
	}
	return all, nil
}

// collector returns a function that appends a record, and drops all records when
// it is called with nil.
func collector[T any](q *erased.Query, into *[]T) func(v any) {
	return func(v any) {
		if v == nil {
			*into = nil
			return
		}
		if *into == nil {
			*into = make([]T, 0, firstRoom(q))
		}
		*into = append(*into, v.(T))
	}
}

// firstRoom returns for how many results of a query there is room at first: for those
// that a page has, and one more, unless the limit is large.
func firstRoom(q *erased.Query) int {
	if q == nil {
		return 0
	}
	return min(q.Spec().Limit, 100) + 1
}
