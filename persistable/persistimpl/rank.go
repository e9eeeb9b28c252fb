// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"context"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

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
