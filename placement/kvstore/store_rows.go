// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Row returns the row of a key. A key that was never claimed has one with Epoch 0.
func (s *Store) Row(ctx context.Context, key placement.Key) (Row, error) {
	if err := key.Validate(); err != nil {
		return Row{}, err
	}
	row, err := kv.ReadTransact(ctx, s.db, func(tx kv.ReadTransaction) (Row, error) {
		k, found, err := s.openKeys(ctx, tx)
		if err != nil || !found {
			return Row{Key: key}, err
		}
		return k.readRow(ctx, tx, key)
	})
	return row, markUnavailable(err)
}

// Rows returns the rows of the keys after a key, in the order of kinds and ids, free ones too:
// at most limit. The zero key is before all others. A row that cannot be read has an Err. Each call is a transaction of its
// own, so a listing in several calls is not one version.
func (s *Store) Rows(ctx context.Context, after placement.Key, limit int) ([]Row, error) {
	if limit < 1 || limit > 10_000 {
		return nil, errors.New("kvstore: rows are listed 1 to 10,000 at a time")
	}
	rows, err := kv.ReadTransact(ctx, s.db, func(tx kv.ReadTransaction) ([]Row, error) {
		k, found, err := s.openKeys(ctx, tx)
		if err != nil || !found {
			return nil, err
		}
		pairs, err := tx.Snapshot().GetRange(k.rowsAfter(after).Selectors(), kv.RangeOptions{Limit: limit, Mode: kv.ModeWantAll}).Slice(ctx)
		if err != nil {
			return nil, err
		}
		return k.decodeRows(pairs)
	})
	return rows, markUnavailable(err)
}
