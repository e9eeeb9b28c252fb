// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// databaseLockKey is where FoundationDB keeps the lock of a database: a versionstamp and
// the lock's name. While it is there, only transactions with [kv.OptionLockAware] read or write;
// others are retried until it is gone.
const databaseLockKey = "\xff/dbLocked"

// lockSize is how many bytes the name of a lock has.
const lockSize = 16

// lockName returns the name of a lock as fdbcli unlock takes it: two integers, which are stored
// with their lowest bytes first.
func lockName(id []byte) string {
	return fmt.Sprintf("%016x%016x", binary.LittleEndian.Uint64(id), binary.LittleEndian.Uint64(id[8:]))
}

// lock locks an end that is shared, as fdbcli lock does, unless the move has locked it already.
func (m *move) lock(ctx context.Context, tx kv.Transaction, e End) error {
	if !e.Shared {
		return nil
	}
	value, err := tx.Get([]byte(databaseLockKey)).Get(ctx)
	if err != nil || value != nil {
		return m.checkLock(e, value, err)
	}
	operand := make([]byte, kv.VersionstampSize, kv.VersionstampSize+lockSize+4)
	operand = append(append(operand, m.state.lock...), 0, 0, 0, 0) // the versionstamp's offset
	tx.Atomic(kv.SetVersionstampedValue, []byte(databaseLockKey), operand)
	return tx.AddWriteConflictRange(userKeys()) // what others have read before the lock is void
}

// unlock ends the lock of an end.
func (m *move) unlock(ctx context.Context, tx kv.Transaction, e End) error {
	if err := m.checkLocked(ctx, tx, e); err != nil || !e.Shared {
		return err
	}
	tx.Clear([]byte(databaseLockKey))
	return nil
}

// checkLocked returns an error unless an end that is shared has the lock of this move. A transaction that
// writes conflicts with one that changes the lock.
func (m *move) checkLocked(ctx context.Context, tx kv.Transaction, e End) error {
	if !e.Shared {
		return nil
	}
	value, err := tx.Get([]byte(databaseLockKey)).Get(ctx)
	return m.checkLock(e, value, err)
}

func (m *move) checkLock(e End, value []byte, err error) error {
	switch {
	case err != nil:
		return err
	case len(value) == 0:
		return fmt.Errorf("%w: %s was unlocked before the move had ended: programs may have written there", ErrLocked, e.Name)
	case len(value) != kv.VersionstampSize+lockSize:
		return fmt.Errorf("%w: what locks %s has %d bytes: %x", ErrLocked, e.Name, len(value), value)
	case string(value[kv.VersionstampSize:]) != string(m.state.lock):
		other := lockName(value[kv.VersionstampSize:])
		return fmt.Errorf("%w: %s is locked by %s: find out why, and end that with fdbcli --exec 'unlock %s'", ErrLocked, e.Name, other, other)
	}
	return nil
}

// LockOf returns why a database is locked, as sentences for a person; "" if it is not.
func LockOf(ctx context.Context, db kv.Database) (reason string, err error) {
	err = transact(ctx, db, func(tx kv.Transaction) error {
		lock, err := tx.Get([]byte(databaseLockKey)).Get(ctx)
		if err != nil || lock == nil {
			return err
		}
		value, err := tx.Get([]byte(stateKey)).Get(ctx)
		if err != nil {
			return err
		}
		reason = explainLock(lock, value)
		return nil
	})
	return reason, err
}

// explainLock says what a lock is for, and how it ends.
func explainLock(lock, value []byte) string {
	if s, err := decodeState(value); err == nil && s.stage == givenUp {
		return fmt.Sprintf("the move of %s into it was given up, which is unfinished: repeat that kazahana move with --abandon", s.from)
	} else if err == nil {
		return fmt.Sprintf("the move of %s into it is unfinished: repeat that kazahana move, or give it up with --abandon", s.from)
	}
	if len(lock) != kv.VersionstampSize+lockSize {
		return fmt.Sprintf("its lock is %x, which has not the size of one that fdbcli makes", lock)
	}
	return fmt.Sprintf("kazahana move --back locks a cluster for good (repeat the move if it is unfinished, or give it up with --abandon); fdbrestore and fdbcli lock it, too. To end the lock: fdbcli --exec 'unlock %s'",
		lockName(lock[kv.VersionstampSize:]))
}

// transact runs fn in a transaction that reads and writes locked databases, and keys of the system.
func transact(ctx context.Context, db kv.Database, fn func(kv.Transaction) error) error {
	return transactUnsure(ctx, db, func(tx kv.Transaction, _ bool) error { return fn(tx) })
}

// transactUnsure is transact for a function that must know whether an earlier attempt may have committed. An
// attempt that met a conflict has not.
func transactUnsure(ctx context.Context, db kv.Database, fn func(tx kv.Transaction, maybeCommitted bool) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(a kv.Attempt) error {
		for _, o := range []kv.Option{kv.OptionAccessSystemKeys, kv.OptionLockAware} {
			if err := tx.SetOption(o, 0); err != nil {
				return err
			}
		}
		return fn(tx, a.MaybeCommitted)
	})
}

// renewal is the target of a move for the layers that renew what is in it, although it is locked. What they
// write is committed only while the move is as far as this process knows.
type renewal struct {
	kv.Database
	move *move
}

// Begin implements [kv.Database]. Layers only read in such transactions: the cache of directories.
func (r renewal) Begin() (kv.Transaction, error) {
	tx, err := r.Database.Begin()
	if err == nil {
		err = tx.SetOption(kv.OptionReadLockAware, 0)
	}
	return tx, err
}

// Transact implements [kv.Transactor].
func (r renewal) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return r.Database.Transact(ctx, func(tx kv.Transaction) error {
		for _, o := range []kv.Option{kv.OptionReadSystemKeys, kv.OptionLockAware} {
			if err := tx.SetOption(o, 0); err != nil {
				return err
			}
		}
		value, err := tx.Get([]byte(stateKey)).Get(ctx)
		if err := r.move.checkTarget(ctx, tx, value, err); err != nil {
			return err
		}
		return fn(tx)
	})
}

// ReadTransact implements [kv.ReadTransactor]. A transaction for reading only takes no options.
func (r renewal) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return r.Transact(ctx, func(tx kv.Transaction) error { return fn(tx.Snapshot()) })
}

// renew changes in the target what it must not share with the source, where programs may still
// run. It can be repeated.
func (m *move) renew(ctx context.Context) error {
	db := renewal{m.to.DB, m}
	if err := m.quarantine(ctx, db); err != nil {
		return fmt.Errorf("putting the leases in quarantine: %w", err)
	}
	if err := m.forget(ctx, db); err != nil {
		return fmt.Errorf("removing the members of the cluster of actors: %w", err)
	}
	return nil
}

// servicePage is how many services of leases are listed at once.
const servicePage = 100

// quarantine has no lease granted until those have ended that the source may grant after the copy.
func (m *move) quarantine(ctx context.Context, db renewal) error {
	provider, err := leasefdb.New(db, leasefdb.Options{})
	if err != nil {
		return err
	}
	for after := ""; ; {
		names, err := provider.Services(ctx, after, servicePage)
		if err != nil {
			return err
		}
		for _, name := range names {
			until, err := quarantineService(ctx, db, name)
			if err != nil {
				return fmt.Errorf("service %q: %w", name, err)
			}
			m.result.Services = append(m.result.Services, Service{name, until.UTC()})
		}
		if len(names) < servicePage {
			return nil
		}
		after = names[len(names)-1]
	}
}

// quarantineService puts a service in quarantine, whatever the layout of its IDs is: the first
// attempt says which one is stored.
func quarantineService(ctx context.Context, db renewal, name string) (until time.Time, err error) {
	var o leasefdb.Options
	for range 2 {
		provider, err := leasefdb.New(db, o)
		if err != nil {
			return until, err
		}
		until, err = provider.Quarantine(ctx, name, 0)
		other := (*refusal.EpochMismatchError)(nil)
		if !errors.As(err, &other) || o.Lease.Services != nil {
			return until, err
		}
		o.Lease.Services = map[string]lease.ServiceConfig{name: {Layout: idgen.Layout(other.Got)}}
	}
	return until, err
}

// forget removes the members that the source has, and gives their cluster a new id: processes of the
// target would call them.
func (m *move) forget(ctx context.Context, db renewal) error {
	members, err := membership.New(db, membership.Options{})
	if err != nil {
		return err
	}
	m.result.Members, err = members.Forget(ctx)
	if errors.Is(err, leasefdb.ErrState) { // of a lease that the source has, too: its member is forgotten all the same
		err = nil
	}
	return err
}
