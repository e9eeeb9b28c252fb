// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Load implements driver.Storage: one transaction that only reads, with one round for
// entries of up to some 80 KB.
func (s *Store) Load(ctx context.Context, key placement.Key) (*placement.ActivationEntry, error) {
	if err := key.Validate(); err != nil {
		return nil, storageError(key, "load", err)
	}
	entry, err := kv.ReadTransact(ctx, s.db, func(tx kv.ReadTransaction) (*placement.ActivationEntry, error) {
		k, found, err := s.openKeys(ctx, tx)
		if err != nil || !found {
			return nil, err
		}
		return k.joinEntry(ctx, key, k.startEntry(tx, key))
	})
	return entry, storageError(key, "load", err)
}

// Store implements driver.Storage: it writes the entry if the owner of the lease has the
// row under its epoch. One transaction and one round of reads. It conflicts with claims,
// releases and removals of the key, and not with transactions under its fence.
func (s *Store) Store(ctx context.Context, lease placement.Lease, entry placement.ActivationEntry) error {
	return storageError(lease.Key, "store", s.storeEntry(ctx, lease, entry))
}

func (s *Store) storeEntry(ctx context.Context, lease placement.Lease, entry placement.ActivationEntry) error {
	if err := checkEntry(lease, entry); err != nil {
		return err
	}
	encoded := encodeEntry(entry)
	return s.changeRow(ctx, lease.Key, lease.Owner, func(tx kv.Transaction, k keys, maybeDone bool) error {
		if k.prefix == nil {
			return staleError(Row{})
		}
		row, err := k.readRow(ctx, tx, lease.Key)
		switch {
		case err != nil:
			return err
		case row.isHeldBy(lease.Owner, lease.Epoch):
			k.writeEntry(tx, lease.Key, encoded)
			return nil
		case maybeDone:
			return k.checkStored(ctx, tx, row, lease, encoded)
		}
		return staleError(row)
	})
}

// checkEntry reports the faults for which an entry cannot be stored.
func checkEntry(lease placement.Lease, e placement.ActivationEntry) error {
	switch {
	case len(e.Record.Snapshot) > MaxSnapshot:
		return fmt.Errorf("%w: it has %d bytes; at most %d are possible", placement.ErrTooLarge, len(e.Record.Snapshot), MaxSnapshot)
	case len(e.Record.PID) > MaxPID:
		return fmt.Errorf("%w: its PID has %d bytes; at most %d are possible", placement.ErrTooLarge, len(e.Record.PID), MaxPID)
	case e.Owner != lease.Owner || e.Epoch != lease.Epoch:
		return fmt.Errorf("%w: the entry of %v under epoch %d is not that of the lease, of %v under epoch %d",
			placement.ErrStale, e.Owner, e.Epoch, lease.Owner, lease.Epoch)
	}
	return errors.Join(lease.Key.Validate(), checkHolder(e.Owner, e.Address))
}
