// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// Lock keeps all programs from writing to a tenant through stores, until [Set.Unlock].
// Transactions that have not committed yet conflict; then, as all later ones, they fail
// with a *persistable.LockedError that names the reason. When Lock returns, the tenant
// does not change any more. Reads go on.
//
// If the tenant is locked already, the error is a *persistable.LockedError. After an error the
// tenant does not have this lock: if the outcome of its commit is unknown, because ctx has
// ended for example, Lock ends it, for which it takes ten seconds at most. If that fails, the
// error says so: see [Set.LockOf].
func (s *Set) Lock(ctx context.Context, name, reason string) (Lock, error) {
	l := Lock{Tenant: name, ID: newID(), Reason: reason}
	err := s.change(ctx, name, func(_ kv.Transaction, known *tenancy.Settings, d *directory.Directory, _ tenancy.Keys) (bool, error) {
		switch known.Lock.ID {
		case "":
			known.Lock = tenancy.Lock{ID: l.ID, Reason: reason}
			return true, nil
		case l.ID: // by an attempt whose acknowledgement was lost
			return false, nil
		}
		return false, &persistable.LockedError{Path: d.Path(), Reason: known.Lock.Reason}
	})
	if kv.IsOutcomeUnknown(err) {
		err = errors.Join(err, s.cancelLock(ctx, l))
	}
	if err != nil {
		return Lock{}, fmt.Errorf("lock tenant %s: %w", pathText(s.Path(name)), err)
	}
	return l, nil
}

// cancelTime bounds how long a lock is cancelled, or the rest of a copy removed, where the
// context of the call may have ended.
const cancelTime = 10 * time.Second

// cancelLock ends a lock whose commit has an unknown outcome. It writes the settings also if
// the tenant does not have the lock, so that a commit that is still under way conflicts.
func (s *Set) cancelLock(ctx context.Context, l Lock) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	err := s.change(ctx, l.Tenant, func(_ kv.Transaction, known *tenancy.Settings, _ *directory.Directory, _ tenancy.Keys) (bool, error) {
		if known.Lock.ID == l.ID {
			known.Lock = tenancy.Lock{}
		}
		return true, nil
	})
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("the tenant may be locked: %w", err)
}

// LockOf returns the lock of a tenant, and whether it is locked. With it an operator
// can unlock a tenant whose locker was killed.
func (s *Set) LockOf(ctx context.Context, name string) (l Lock, locked bool, err error) {
	err = s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := s.openNamed(ctx, tx, name)
		if err != nil {
			return err
		}
		known, _, err := tenancy.Read(ctx, tx, d)
		l = Lock{Tenant: name, ID: known.Lock.ID, Reason: known.Lock.Reason}
		return err
	})
	return l, l.ID != "", err
}

// Unlock ends a lock. If the tenant does not have that lock, the error is
// [ErrLockLost], unless the same call has ended it before.
func (s *Set) Unlock(ctx context.Context, l Lock) error {
	tried := false // an earlier attempt may have unlocked it
	err := s.change(ctx, l.Tenant, func(_ kv.Transaction, known *tenancy.Settings, _ *directory.Directory, _ tenancy.Keys) (bool, error) {
		if known.Lock.ID == "" && tried {
			return false, nil
		}
		if known.Lock.ID != l.ID || l.ID == "" {
			return false, ErrLockLost
		}
		tried, known.Lock = true, tenancy.Lock{}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("unlock tenant %s: %w", pathText(s.Path(l.Tenant)), err)
	}
	return nil
}

// openNamed is open for a name that was not checked.
func (s *Set) openNamed(ctx context.Context, tx kv.ReadTransaction, name string) (*directory.Directory, error) {
	if err := s.checkName(name); err != nil {
		return nil, err
	}
	return s.open(ctx, tx, name)
}

// change changes the settings of a tenant if fn says so. All transactions that write to
// the tenant and have not committed conflict, and the stores of all processes read the
// settings again.
func (s *Set) change(ctx context.Context, name string, fn func(kv.Transaction, *tenancy.Settings, *directory.Directory, tenancy.Keys) (bool, error)) error {
	return s.transact(ctx, func(tx kv.Transaction) error {
		d, err := s.openNamed(ctx, tx, name)
		if err != nil {
			return err
		}
		known, keys, err := tenancy.Read(ctx, tx, d)
		if err != nil {
			return err
		}
		if changed, err := fn(tx, &known, d, keys); !changed || err != nil {
			return err
		}
		return known.Write(ctx, tx, d)
	})
}

// checkLock returns [ErrLockLost] if the tenant does not have the lock.
func (s *Set) checkLock(ctx context.Context, tx kv.ReadTransaction, l Lock) error {
	d, err := s.open(ctx, tx, l.Tenant)
	if err != nil {
		return err
	}
	known, _, err := tenancy.Read(ctx, tx, d)
	if err == nil && known.Lock.ID != l.ID {
		err = ErrLockLost
	}
	return err
}
