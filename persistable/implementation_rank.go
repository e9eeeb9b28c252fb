// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// RankOf implements the run-time of package persistimpl.
func (implementation) RankOf(ctx context.Context, e *erased.Source, i int, group, score []byte) (n int64, err error) {
	s := newSource(e)
	err = s.readRanks(ctx, i, func(_ *transaction, o *openStore, reader kv.ReadTransaction) error {
		n, err = o.indexes[i].Ranks().Count(ctx, reader, group, slices.Concat(group, score))
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Nth implements the run-time of package persistimpl.
func (implementation) Nth(ctx context.Context, e *erased.Source, i int, group []byte, n int64) (any, error) {
	s := newSource(e)
	return s.rankedRecord(ctx, i, group, func(l *rank.List, reader kv.ReadTransaction) ([]byte, error) {
		return l.Nth(ctx, reader, group, n)
	})
}

// Percentile implements the run-time of package persistimpl.
func (implementation) Percentile(ctx context.Context, e *erased.Source, i int, group []byte, p float64) (any, error) {
	s := newSource(e)
	return s.rankedRecord(ctx, i, group, func(l *rank.List, reader kv.ReadTransaction) ([]byte, error) {
		return l.Percentile(ctx, reader, group, groupEnd(group), p)
	})
}

// groupEnd returns the end of the elements of a group.
func groupEnd(group []byte) []byte { return append(slices.Clone(group), 0xff) }
