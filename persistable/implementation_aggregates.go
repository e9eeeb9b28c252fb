// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

func (implementation) Count(ctx context.Context, e *erased.Source, i int, group []byte) (int64, error) {
	return newSource(e).count(ctx, i, group)
}

func (implementation) Sum(ctx context.Context, e *erased.Source, i int, group []byte) (index.Amount, error) {
	return newSource(e).sum(ctx, i, group)
}

func (implementation) Groups(ctx context.Context, e *erased.Source, i int) ([]erased.Group, error) {
	return newSource(e).groups(ctx, i)
}

func (implementation) Overflow(e *erased.Source, i int, sum index.Amount) error {
	s := newSource(e)
	return s.overflow(i, sum)
}

func (implementation) Extreme(ctx context.Context, e *erased.Source, i int, group []byte, greatest bool) ([]byte, error) {
	return newSource(e).extreme(ctx, i, group, greatest)
}

func (implementation) Damaged(e *erased.Source, i int, key []byte, err error) error {
	s := newSource(e)
	return s.damagedGroup(i, key, err)
}
