// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"context"
	"fmt"
	"iter"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Unique returns the record that has the packed values in the schema's i-th
// index, which is unique, or persistable.ErrNotFound.
//
//go:noinline
func Unique[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, values []byte) (T, error) {
	v, err := erased.Runtime.Unique(ctx, (*erased.Store[ID])(s).Source(), i, values)
	record, _ := v.(T)
	return record, err
}

// Query returns the records that have the packed values equal in the first fields of
// the schema's i-th index; nil for all records.
//
//go:noinline
func Query[T, ID any](s *persistable.Store[T, ID], i int, equal []byte) *persistable.Query[T] {
	return (*persistable.Query[T])(erased.NewIndexQuery((*erased.Store[ID])(s).Source(), i, equal))
}

// Range is Query with a range on the next field, of no type of records yet: one function serves all
// types. encode appends the field's values as tuple elements.
func Range[F any](s *erased.Source, i int, equal []byte, encode func([]byte, F) []byte) *erased.Range[F] {
	return erased.NewRange(s, i, equal, encode)
}

// DescendingRange is Range of a field that is stored in descending order: it
// yields the greatest value first. encode appends values in ascending order, equal has
// those of descending fields as index.Descend leaves them.
func DescendingRange[F any](s *erased.Source, i int, equal []byte, encode func([]byte, F) []byte) *erased.Range[F] {
	return erased.NewRange(s, i, equal, encode).Descending()
}

// NewField returns the field with that name, of no type of records yet: one function serves all types.
// encode appends its values as tuple elements.
func NewField[F any](name string, encode func([]byte, F) []byte) erased.Field[F] {
	return erased.NewField(name, encode)
}

// Row is an entry of an index that copies chosen fields.
type Row = erased.Row

// Rows returns the rows of a query of an index that copies chosen fields. read makes
// one from an entry, and keeps none of its memory.
func Rows[T, R any](q *persistable.Query[T], read func(*Row) (R, error)) *persistable.RowQuery[R] {
	return (*persistable.RowQuery[R])(erased.NewRows((*erased.Query)(q), read))
}

// RowRange is Rows of a range.
func RowRange[T, R, F any](q *persistable.RangeQuery[T, F], read func(*Row) (R, error)) *persistable.RowRange[R, F] {
	return (*persistable.RowRange[R, F])(erased.NewRowRange((*erased.Range[F])(q), read))
}

// ReadRowString reads a string of the key of a row, from the start of b, and returns what follows it.
func ReadRowString[T ~string](row *Row, b []byte) (T, []byte, error) {
	v, rest, err := row.ReadString(b)
	return T(v), rest, err
}

// CheckEnd returns an error unless rest, what follows the id of a row, is empty.
func CheckEnd(rest []byte) error {
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes follow the id", len(rest))
	}
	return nil
}

// Count returns the number of records in a group of the schema's i-th index, which is a
// count. group is the group's packed values.
//
//go:noinline
func Count[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte) (int64, error) {
	return erased.Runtime.Count(ctx, Source(s), i, group)
}

// Sum returns the sum of a group of the schema's i-th index, which is a sum. One that does not fit an int64 is a persistable.ErrOverflow.
//
//go:noinline
func Sum[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte) (int64, error) {
	sum, err := erased.Runtime.Sum(ctx, Source(s), i, group)
	return fitInt(Source(s), i, sum, err)
}

// SumUint is Sum of a field that is unsigned.
//
//go:noinline
func SumUint[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte) (uint64, error) {
	sum, err := erased.Runtime.Sum(ctx, Source(s), i, group)
	return fitUint(Source(s), i, sum, err)
}

func fitInt(s *erased.Source, i int, sum index.Amount, err error) (int64, error) {
	v, fits := sum.Int64()
	if err == nil && !fits {
		return 0, erased.Runtime.Overflow(s, i, sum)
	}
	return v, err
}

func fitUint(s *erased.Source, i int, sum index.Amount, err error) (uint64, error) {
	v, fits := sum.Uint64()
	if err == nil && !fits {
		return 0, erased.Runtime.Overflow(s, i, sum)
	}
	return v, err
}

// Counts yields all groups of the schema's i-th index, which is a count, in the order of their values, which read reads. All are of one version,
// as those of Slice are. After an error it stops.
func Counts[T, ID, G any](ctx context.Context, s *persistable.Store[T, ID], i int, read func(b []byte) (G, []byte, error)) iter.Seq2[persistable.GroupCount[G], error] {
	return func(yield func(persistable.GroupCount[G], error) bool) {
		for g, err := range groups(ctx, s, i, read) {
			c := persistable.GroupCount[G]{Group: g.group}
			if err == nil {
				c.Count, err = index.ReadCount(g.value)
				err = damaged(Source(s), i, g.values, err)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// Sums is Counts of an index that is a sum. A sum that does not fit an int64 is a
// persistable.ErrOverflow, with the group; the groups after it follow.
func Sums[T, ID, G any](ctx context.Context, s *persistable.Store[T, ID], i int, read func(b []byte) (G, []byte, error)) iter.Seq2[persistable.GroupSum[G, int64], error] {
	return sums(ctx, s, i, read, fitInt)
}

// SumsUint is Sums of a field that is unsigned.
func SumsUint[T, ID, G any](ctx context.Context, s *persistable.Store[T, ID], i int, read func(b []byte) (G, []byte, error)) iter.Seq2[persistable.GroupSum[G, uint64], error] {
	return sums(ctx, s, i, read, fitUint)
}

func sums[T, ID, G, S any](ctx context.Context, s *persistable.Store[T, ID], i int, read func(b []byte) (G, []byte, error),
	fit func(s *erased.Source, i int, sum index.Amount, err error) (S, error),
) iter.Seq2[persistable.GroupSum[G, S], error] {
	return func(yield func(persistable.GroupSum[G, S], error) bool) {
		for g, err := range groups(ctx, s, i, read) {
			one := persistable.GroupSum[G, S]{Group: g.group}
			var sum index.Amount
			if err == nil {
				sum, err = index.ReadAmount(g.value)
				err = damaged(Source(s), i, g.values, err)
			}
			if err != nil {
				yield(one, err)
				return
			}
			if one.Sum, err = fit(Source(s), i, sum, nil); !yield(one, err) {
				return
			}
		}
	}
}

// group is a group of records with its stored value.
type group[G any] struct {
	group         G
	values, value []byte
}

func groups[T, ID, G any](ctx context.Context, s *persistable.Store[T, ID], i int, read func(b []byte) (G, []byte, error)) iter.Seq2[group[G], error] {
	return func(yield func(group[G], error) bool) {
		all, err := erased.Runtime.Groups(ctx, Source(s), i)
		if err != nil {
			yield(group[G]{}, err)
			return
		}
		for _, stored := range all {
			g := group[G]{values: stored.Values, value: stored.Value}
			g.group, _, err = read(stored.Values)
			if !yield(g, damaged(Source(s), i, stored.Values, err)) {
				return
			}
		}
	}
}

func damaged(s *erased.Source, i int, key []byte, err error) error {
	if err == nil {
		return nil
	}
	return erased.Runtime.Damaged(s, i, key, err)
}

// Min returns the least value that the field after those of group has in the
// schema's i-th index, which is one of values; ok is false if no record of the group
// has one. read reads the field's value. null does not count as a value.
//
//go:noinline
func Min[T, ID, F any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, read func(b []byte) (F, []byte, error)) (least F, ok bool, err error) {
	return extreme(ctx, Source(s), i, group, false, read)
}

// Max is Min for the greatest value.
//
//go:noinline
func Max[T, ID, F any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, read func(b []byte) (F, []byte, error)) (greatest F, ok bool, err error) {
	return extreme(ctx, Source(s), i, group, true, read)
}

func extreme[F any](ctx context.Context, s *erased.Source, i int, group []byte, greatest bool, read func(b []byte) (F, []byte, error)) (v F, ok bool, err error) {
	element, err := erased.Runtime.Extreme(ctx, s, i, group, greatest)
	if err != nil || element == nil {
		return v, false, err
	}
	v, _, err = read(element)
	return v, err == nil, damaged(s, i, element, err)
}

// Source returns where the operations of a store take place.
func Source[T, ID any](s *persistable.Store[T, ID]) *erased.Source {
	return (*erased.Store[ID])(s).Source()
}

// RankOf returns how many records of a group of the schema's i-th index, which is one of
// ranks, come before the packed score: those with a lower one.
//
// Cost: one round of reads, rarely a second one.
//
//go:noinline
func RankOf[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group, score []byte) (int64, error) {
	return erased.Runtime.RankOf(ctx, (*erased.Store[ID])(s).Source(), i, group, score)
}

// Nth returns the record of a group that has n records before it, in the order of the
// score and, among equal scores, of the id; persistable.ErrNotFound if there are no more
// than n, or n is negative.
//
// Cost: one round of reads for each level of the list, at most six, and one for the
// record.
//
//go:noinline
func Nth[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, n int64) (T, error) {
	v, err := erased.Runtime.Nth(ctx, (*erased.Store[ID])(s).Source(), i, group, n)
	record, _ := v.(T)
	return record, err
}

// Percentile returns the record of a group at a percentile of the scores, by the
// nearest-rank method: the first record such that at least p percent of the group do not come
// after it. p is from 0 to 100. An empty group is persistable.ErrNotFound.
//
// Cost: one round of reads more than Nth.
//
//go:noinline
func Percentile[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, p float64) (T, error) {
	v, err := erased.Runtime.Percentile(ctx, (*erased.Store[ID])(s).Source(), i, group, p)
	record, _ := v.(T)
	return record, err
}

// Top returns the n records of a group with the highest scores, the highest first; among
// equal scores the one with the greatest id. An n below 1 is an error.
//
// Cost: two rounds of reads.
//
//go:noinline
func Top[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, n int) ([]T, error) {
	return Query(s, i, group).Reverse().Limit(n).Slice(ctx)
}
