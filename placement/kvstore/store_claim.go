// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// TryAcquire implements driver.Lock: one transaction with one round of reads, or two if
// another owner has the row. The lease is kept, does not expire, and has the stored entry.
// A claim of an owner that is not alive gets a [placement.ErrStale], and so does one that
// comes after a later claim of its owner.
func (s *Store) TryAcquire(ctx context.Context, c placement.TryAcquire) (placement.Lease, error) {
	if err := checkClaim(c); err != nil {
		return placement.Lease{}, lockError(c.Key, err)
	}
	var k keys
	lease, err := kv.Transact(ctx, s.db, func(tx kv.Transaction) (l placement.Lease, err error) {
		if k, err = s.createKeys(ctx, tx); err != nil {
			return l, err
		}
		return s.claimKey(ctx, tx, k, c)
	})
	if err == nil { // before the commit, the directory may not have been created
		s.prefix.Store(&k.prefix)
	}
	return lease, lockError(c.Key, err)
}

// checkHolder reports all faults of an owner and its address.
func checkHolder(o placement.Owner, address string) error {
	if err := (placement.Member{Owner: o, Address: address}).Validate(); err != nil {
		return fmt.Errorf("kvstore: the owner %.80q is invalid: %w", o, err)
	}
	return nil
}

// checkClaim reports all faults of a claim.
func checkClaim(c placement.TryAcquire) error {
	faults := []error{c.Key.Validate(), checkHolder(c.Owner, c.Address)}
	if c.RequestID == 0 {
		faults = append(faults, errors.New("kvstore: the request id is 0; it counts from 1"))
	}
	return errors.Join(faults...)
}

// claimKey claims a key in tx.
func (s *Store) claimKey(ctx context.Context, tx kv.Transaction, k keys, c placement.TryAcquire) (placement.Lease, error) {
	entry, self := k.startEntry(tx, c.Key), s.members.StartAlive(ctx, tx, c.Owner)
	row, err := k.readRow(ctx, tx, c.Key)
	if err != nil {
		return placement.Lease{}, err
	}
	if err := s.checkClaimable(ctx, tx, row, c, self); err != nil {
		return placement.Lease{}, err
	}
	if row.Owner != c.Owner || row.Request != c.RequestID {
		row = Row{Key: c.Key, Epoch: row.Epoch + 1, Owner: c.Owner, Address: c.Address, Request: c.RequestID, Topology: c.Topology}
		tx.Set(k.row(c.Key), row.encode())
	}
	lease := placement.Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: row.Epoch, Loaded: true, Kept: true}
	lease.Entry, err = k.joinEntry(ctx, c.Key, entry)
	return lease, err
}

// checkClaimable returns an error if the claimant is dead or has the key by a later claim, or
// if another live owner has the key.
func (s *Store) checkClaimable(ctx context.Context, tx kv.Transaction, row Row, c placement.TryAcquire, self func(context.Context) (bool, error)) error {
	alive, err := self(ctx)
	if err != nil {
		return err
	}
	if !alive {
		return fmt.Errorf("%w: %v is not a live member", placement.ErrStale, c.Owner)
	}
	if row.Owner == c.Owner && c.RequestID < row.Request {
		return fmt.Errorf("%w: request %d comes late, after request %d", placement.ErrStale, c.RequestID, row.Request)
	}
	if row.Free() || row.Owner == c.Owner {
		return nil
	}
	alive, err = s.members.StartAlive(ctx, tx, row.Owner)(ctx)
	if err == nil && alive {
		err = &placement.LockError{Key: c.Key, Holder: row.holder(), Err: placement.ErrHeld}
	}
	return err
}
