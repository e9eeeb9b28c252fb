// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Release implements driver.Lock: it frees the row, and removes the entry if that was
// stored under the lease. An earlier one stays for the next claim.
func (s *Store) Release(ctx context.Context, lease placement.Lease) error {
	err := s.changeRow(ctx, lease.Key, lease.Owner, func(tx kv.Transaction, k keys, maybeDone bool) error {
		row, entry, err := k.readBoth(ctx, tx, lease.Key)
		switch {
		case err != nil:
			return err
		case row.isHeldBy(lease.Owner, lease.Epoch):
			k.freeRow(tx, row, entry)
			return nil
		case maybeDone, row.Free() && row.Epoch == lease.Epoch:
			return nil // it is released already
		}
		return &placement.LockError{Key: lease.Key, Holder: row.holder(), Err: staleError(row)}
	})
	return lockError(lease.Key, err)
}

// Remove implements driver.Storage: it ends the claim and removes the entry.
func (s *Store) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	err := s.changeRow(ctx, key, owner, func(tx kv.Transaction, k keys, maybeDone bool) error {
		row, entry, err := k.readBoth(ctx, tx, key)
		own := entry.Owner == owner && entry.Epoch == epoch
		switch {
		case err != nil:
			return err
		case row.isHeldBy(owner, epoch):
			k.freeRow(tx, row, entry)
			return nil
		case row.Free() && own: // a later claim was given back
			tx.ClearRange(k.entry(key))
			return nil
		case maybeDone && !own, row.Free() && entry.Epoch == 0:
			return nil // it is removed already
		}
		return staleError(row)
	})
	return storageError(key, "remove", err)
}

// changeRow runs fn in a transaction below the directory. maybeDone says that an earlier
// attempt may have committed. If there is no directory, nothing was ever claimed.
func (s *Store) changeRow(ctx context.Context, key placement.Key, owner placement.Owner, fn func(tx kv.Transaction, k keys, maybeDone bool) error) error {
	if err := errors.Join(key.Validate(), checkHolder(owner, "")); err != nil {
		return err
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(a kv.Attempt) error {
		k, _, err := s.openKeys(ctx, tx)
		if err != nil {
			return err
		}
		return fn(tx, k, a.MaybeCommitted)
	})
}
