// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"context"
	"iter"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Count returns the number of records in a group of the schema's i-th index, which is
// of the kind index.Count: the group's packed values.
//
//go:noinline
func Count[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte) (int64, error) {
	return erased.Runtime.Count(ctx, sourceOf(s), i, group)
}

// Sum returns the sum of a group of the schema's i-th index, which is of the kind
// index.Sum. A sum that is no int64 is a *persistable.OverflowError.
//
//go:noinline
func Sum[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte) (int64, error) {
	sum, err := erased.Runtime.Sum(ctx, sourceOf(s), i, group)
	return fitInt(sourceOf(s), i, sum, err)
}

// SumUint is Sum of a field that is unsigned.
//
//go:noinline
func SumUint[T, ID any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte) (uint64, error) {
	sum, err := erased.Runtime.Sum(ctx, sourceOf(s), i, group)
	return fitUint(sourceOf(s), i, sum, err)
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

// Counts yields all groups of the schema's i-th index, which is of the kind
// index.Count, in the order of their values, which read reads. All are of one version,
// as those of Slice are. After an error it stops.
func Counts[T, ID, G any](ctx context.Context, s *persistable.Store[T, ID], i int, read func(b []byte) (G, []byte, error)) iter.Seq2[persistable.GroupCount[G], error] {
	return func(yield func(persistable.GroupCount[G], error) bool) {
		for g, err := range groups(ctx, s, i, read) {
			c := persistable.GroupCount[G]{Group: g.group}
			if err == nil {
				c.Count, err = index.ReadCount(g.value)
				err = damaged(sourceOf(s), i, g.values, err)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// Sums is Counts of an index of the kind index.Sum. A sum that is no int64 is a
// *persistable.OverflowError, with the group; the groups behind it follow.
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
				err = damaged(sourceOf(s), i, g.values, err)
			}
			if err != nil {
				yield(one, err)
				return
			}
			if one.Sum, err = fit(sourceOf(s), i, sum, nil); !yield(one, err) {
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
		all, err := erased.Runtime.Groups(ctx, sourceOf(s), i)
		if err != nil {
			yield(group[G]{}, err)
			return
		}
		for _, stored := range all {
			g := group[G]{values: stored.Values, value: stored.Value}
			g.group, _, err = read(stored.Values)
			if !yield(g, damaged(sourceOf(s), i, stored.Values, err)) {
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

// Min returns the least value that the field behind those of group has in the
// schema's i-th index, which is one of values; ok is false if no record of the group
// has one. read reads the field's value. null is no value.
//
//go:noinline
func Min[T, ID, F any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, read func(b []byte) (F, []byte, error)) (least F, ok bool, err error) {
	return extreme(ctx, sourceOf(s), i, group, false, read)
}

// Max is Min for the greatest value.
//
//go:noinline
func Max[T, ID, F any](ctx context.Context, s *persistable.Store[T, ID], i int, group []byte, read func(b []byte) (F, []byte, error)) (greatest F, ok bool, err error) {
	return extreme(ctx, sourceOf(s), i, group, true, read)
}

func extreme[F any](ctx context.Context, s *erased.Source, i int, group []byte, greatest bool, read func(b []byte) (F, []byte, error)) (v F, ok bool, err error) {
	element, err := erased.Runtime.Extreme(ctx, s, i, group, greatest)
	if err != nil || element == nil {
		return v, false, err
	}
	v, _, err = read(element)
	return v, err == nil, damaged(s, i, element, err)
}

func sourceOf[T, ID any](s *persistable.Store[T, ID]) *erased.Source {
	return (*erased.Store[ID])(s).Source()
}
