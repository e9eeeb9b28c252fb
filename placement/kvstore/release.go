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
	err := s.change(ctx, lease.Key, lease.Owner, func(tx kv.Transaction, k keys, maybeDone bool) error {
		row, entry, err := k.readBoth(ctx, tx, lease.Key)
		switch {
		case err != nil:
			return err
		case row.holds(lease.Owner, lease.Epoch):
			k.free(tx, row, entry)
			return nil
		case maybeDone, row.Free() && row.Epoch == lease.Epoch:
			return nil // it is released already
		}
		return &placement.LockError{Key: lease.Key, Holder: row.holder(), Err: stale(row)}
	})
	return lockError(lease.Key, err)
}

// Remove implements driver.Storage: it ends the claim and removes the entry.
func (s *Store) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	err := s.change(ctx, key, owner, func(tx kv.Transaction, k keys, maybeDone bool) error {
		row, entry, err := k.readBoth(ctx, tx, key)
		own := entry.Owner == owner && entry.Epoch == epoch
		switch {
		case err != nil:
			return err
		case row.holds(owner, epoch):
			k.free(tx, row, entry)
			return nil
		case row.Free() && own: // a later claim was given back
			tx.ClearRange(k.entry(key))
			return nil
		case maybeDone && !own, row.Free() && entry.Epoch == 0:
			return nil // it is removed already
		}
		return stale(row)
	})
	return storageError(key, "remove", err)
}

// change runs fn in a transaction below the directory. maybeDone says that an earlier
// attempt may have committed. If there is no directory, nothing was ever claimed.
func (s *Store) change(ctx context.Context, key placement.Key, owner placement.Owner, fn func(tx kv.Transaction, k keys, maybeDone bool) error) error {
	if err := errors.Join(key.Validate(), checkHolder(owner, "")); err != nil {
		return err
	}
	tx, err := s.db.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(a kv.Attempt) error {
		k, _, err := s.open(ctx, tx)
		if err != nil {
			return err
		}
		return fn(tx, k, a.MaybeCommitted)
	})
}

// readBoth reads the row of a key, and of its entry what comes before the snapshot: the zero
// entry if there is none.
func (k keys) readBoth(ctx context.Context, tx kv.ReadTransaction, key placement.Key) (Row, placement.ActivationEntry, error) {
	if k.prefix == nil {
		return Row{Key: key}, placement.ActivationEntry{}, nil
	}
	first := tx.Get(k.chunk(key, 0))
	row, err := k.readRow(ctx, tx, key)
	if err != nil {
		return row, placement.ActivationEntry{}, err
	}
	value, err := first.Get(ctx)
	if err != nil || value == nil {
		return row, placement.ActivationEntry{}, err
	}
	entry, _, _, err := decodeHead(value)
	if err != nil {
		err = &CorruptError{Key: k.chunk(key, 0), Err: err}
	}
	return row, entry, err
}

// free frees a row, and removes the entry if it is that of the row's claim.
func (k keys) free(tx kv.Transaction, row Row, entry placement.ActivationEntry) {
	tx.Set(k.row(row.Key), Row{Epoch: row.Epoch}.encode())
	if entry.Owner == row.Owner && entry.Epoch == row.Epoch {
		tx.ClearRange(k.entry(row.Key))
	}
}
