// SPDX-License-Identifier: Apache-2.0

package kvstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Liveness knows which owners are alive. Package placement/membership implements it. It
// must not call the Store.
type Liveness interface {
	// StartAlive starts the reads in tx by which it finds out whether an owner is alive, so that
	// other reads share the round. The function that it returns waits for the answer. A dead
	// owner stays dead. If the answer changes before tx commits, the commit fails with a
	// conflict. Writes of live owners, such as renewals, do not conflict with tx.
	StartAlive(ctx context.Context, tx kv.ReadTransaction, owner placement.Owner) func(context.Context) (bool, error)
}

// Options configure a [Store]. Members is required.
type Options struct {
	// Members knows which owners are alive.
	Members Liveness
	// Layer is the directory layer in which the directory is. The default value
	// is directory.Root().
	Layer *directory.Layer
	// Path is the directory of the rows and entries. All members and clients of a cluster use
	// the same. The default value is kazahana/placement.
	Path []string
}

// Store is a home of locks and of entries in one directory of a database: a driver.Lock
// and a driver.Storage. It is safe for concurrent use.
type Store struct {
	db      kv.Database
	members Liveness
	path    []string
	dirs    *directory.Cache

	prefix atomic.Pointer[[]byte] // of the directory, as the last claim saw it
}

// New returns a store in db. Nothing is read or written: the first claim creates
// the directory.
func New(db kv.Database, o Options) (*Store, error) {
	if db == nil {
		return nil, errors.New("kvstore: the database is nil")
	}
	if o.Members == nil {
		return nil, errors.New("kvstore: Options.Members is nil: nothing could be claimed that a dead owner has; give a membership.Registry")
	}
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.Path == nil {
		o.Path = []string{"kazahana", "placement"}
	}
	dirs, err := directory.NewCache(o.Layer, db, directory.CacheOptions{})
	if err != nil {
		return nil, fmt.Errorf("kvstore: %w", err)
	}
	return &Store{db: db, members: o.Members, path: o.Path, dirs: dirs}, nil
}

// createKeys returns the keys of the directory, which it creates if there is none.
func (s *Store) createKeys(ctx context.Context, tx kv.Transaction) (keys, error) {
	d, err := s.dirs.CreateOrOpen(ctx, tx, s.path)
	return keysOf(d, err)
}

// openKeys returns the keys of the directory, and whether there is one.
func (s *Store) openKeys(ctx context.Context, tx kv.ReadTransaction) (k keys, found bool, err error) {
	d, err := s.dirs.OpenRead(ctx, tx, s.path)
	if errors.Is(err, directory.ErrNotFound) {
		return k, false, nil
	}
	k, err = keysOf(d, err)
	return k, err == nil, err
}

func keysOf(d *directory.Directory, err error) (keys, error) {
	if err != nil {
		return keys{}, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return keys{}, err
	}
	return keys{prefix}, nil
}

// TryAcquire implements driver.Lock: one transaction with one round of reads, or two if
// another owner has the row. The lease is kept, does not expire, and has the stored entry.
// A claim of an owner that is not alive gets a [placement.ErrStale], and so does one that
// comes after a later claim of its owner.
func (s *Store) TryAcquire(ctx context.Context, c core.TryAcquire) (core.Lease, error) {
	if err := checkClaim(c); err != nil {
		return core.Lease{}, lockError(c.Key, err)
	}
	var k keys
	lease, err := kv.Transact(ctx, s.db, func(tx kv.Transaction) (l core.Lease, err error) {
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
func checkClaim(c core.TryAcquire) error {
	faults := []error{c.Key.Validate(), checkHolder(c.Owner, c.Address)}
	if c.RequestID == 0 {
		faults = append(faults, errors.New("kvstore: the request id is 0; it counts from 1"))
	}
	return errors.Join(faults...)
}

// claimKey claims a key in tx.
func (s *Store) claimKey(ctx context.Context, tx kv.Transaction, k keys, c core.TryAcquire) (core.Lease, error) {
	entry, self := k.startEntry(tx, c.Key), s.members.StartAlive(ctx, tx, c.Owner)
	row, err := k.readRow(ctx, tx, c.Key)
	if err != nil {
		return core.Lease{}, err
	}
	if err := s.checkClaimable(ctx, tx, row, c, self); err != nil {
		return core.Lease{}, err
	}
	if row.Owner != c.Owner || row.Request != c.RequestID {
		row = Row{Key: c.Key, Epoch: row.Epoch + 1, Owner: c.Owner, Address: c.Address, Request: c.RequestID, Topology: c.Topology}
		tx.Set(k.row(c.Key), row.encode())
	}
	lease := core.Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: row.Epoch, Loaded: true, Kept: true}
	lease.Entry, err = k.joinEntry(ctx, c.Key, entry)
	return lease, err
}

// checkClaimable returns an error if the claimant is dead or has the key by a later claim, or
// if another live owner has the key.
func (s *Store) checkClaimable(ctx context.Context, tx kv.Transaction, row Row, c core.TryAcquire, self func(context.Context) (bool, error)) error {
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
		err = &core.LockError{Key: c.Key, Holder: row.holder(), Err: placement.ErrHeld}
	}
	return err
}

// Load implements driver.Storage: one transaction that only reads, with one round for
// entries of up to some 80 KB.
func (s *Store) Load(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
	if err := key.Validate(); err != nil {
		return nil, storageError(key, "load", err)
	}
	entry, err := kv.ReadTransact(ctx, s.db, func(tx kv.ReadTransaction) (*core.ActivationEntry, error) {
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
func (s *Store) Store(ctx context.Context, lease core.Lease, entry core.ActivationEntry) error {
	return storageError(lease.Key, "store", s.storeEntry(ctx, lease, entry))
}

func (s *Store) storeEntry(ctx context.Context, lease core.Lease, entry core.ActivationEntry) error {
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
func checkEntry(lease core.Lease, e core.ActivationEntry) error {
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

// Release implements driver.Lock: it frees the row, and removes the entry if that was
// stored under the lease. An earlier one stays for the next claim.
func (s *Store) Release(ctx context.Context, lease core.Lease) error {
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
		return &core.LockError{Key: lease.Key, Holder: row.holder(), Err: staleError(row)}
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

// Fence returns the condition that the owner has the key under the epoch: no other
// claim has been granted and nothing was removed or released. Its error is a
// leasefdb.ErrLeaseLost and a [placement.ErrActivationLost]. The fence of a Store that was granted no
// claim is never in force.
func (s *Store) Fence(key placement.Key, owner placement.Owner, epoch int64) leasefdb.Fence {
	prefix := s.prefix.Load()
	if prefix == nil || key.Validate() != nil {
		return leasefdb.NewFence(nil, func([]byte) error {
			return lostError(key, epoch, "this Store was granted no claim yet", nil)
		})
	}
	at := keys{*prefix}.row(key)
	return leasefdb.NewFence(at, func(found []byte) error {
		row, err := decodeRow(key, at, found)
		switch {
		case err != nil:
			return lostError(key, epoch, "its row cannot be read", err)
		case row.isHeldBy(owner, epoch):
			return nil
		}
		return lostError(key, epoch, staleError(row).Error(), nil)
	})
}

// lostError is the error of a fence that is not in force.
func lostError(key placement.Key, epoch int64, reason string, cause error) error {
	err := placement.ErrActivationLost
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &leasefdb.LostError{Name: key.String(), Epoch: epoch, Reason: reason, Err: err}
}
