// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
)

// Lock is the lock of a tenant against writes. It is in the database, not in the
// process: it ends with [Set.Unlock] only. A program can keep it as text, and pass it
// on.
type Lock struct {
	Tenant string `json:"tenant"` // its name
	ID     string `json:"id"`     // random, another one for each lock
	Reason string `json:"reason"` // for people: what it is for
}

// Lock keeps all programs from writing to a tenant through stores, until [Set.Unlock].
// Transactions that have not committed yet conflict; then, as all later ones, they fail
// with a persistable.ErrLocked that names the reason. When Lock returns, the tenant
// does not change any more. Reads go on.
//
// If the tenant is locked already, the error is a persistable.ErrLocked. After an error the
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
		return false, tenancy.Locked("", d.Path(), known.Lock.Reason)
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

// cancelLock ends a lock if the outcome of its commit is unknown. It writes the settings even if
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
// can unlock a tenant after its locker was killed.
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

// CheckUnlocked returns a persistable.ErrLocked if one of the directories, or one above
// it, is locked by [Set.Lock]. The directories were opened in tx, which is about to change
// or remove them: a lock that comes before tx commits is a conflict. The verbs of this
// package and of [persistable.DB] check it themselves. It is for programs that change the
// directories of tenants by a [directory.Layer]:
//
//	err := db.Transact(ctx, func(tx persistable.Tx) error {
//		all, err := db.Layer().Subtree(ctx, tx.KV(), path)
//		if err != nil {
//			return err
//		}
//		if err := tenants.CheckUnlocked(ctx, tx.KV(), all...); err != nil {
//			return err
//		}
//		return db.Layer().Remove(ctx, tx.KV(), path)
//	})
//
// Cost: one round of reads.
func CheckUnlocked(ctx context.Context, tx kv.ReadTransaction, all ...*directory.Directory) error {
	path, lock, err := tenancy.FindLock(ctx, tx, all...)
	switch {
	case err != nil:
		return fmt.Errorf("tenants: %w", err)
	case path != nil:
		return tenancy.Locked("", path, lock.Reason)
	}
	return nil
}

// Quota bounds what a tenant holds, over all its types. The zero value sets no limit.
type Quota struct {
	Records int64 `json:"records,omitempty"` // maximum number of records; 0: no bound
	Bytes   int64 `json:"bytes,omitempty"`   // maximum bytes of the records' values, without keys and entries; 0: no bound
}

// Validate reports every fault of the quota.
func (q Quota) Validate() error {
	var faults []error
	if q.Records < 0 {
		faults = append(faults, fmt.Errorf("tenants: Quota.Records is %d, must not be negative", q.Records))
	}
	if q.Bytes < 0 {
		faults = append(faults, fmt.Errorf("tenants: Quota.Bytes is %d, must not be negative", q.Bytes))
	}
	return errors.Join(faults...)
}

// Usage is what a tenant holds, as its writes have counted it.
type Usage struct {
	Quota    Quota `json:"quota"`
	Records  int64 `json:"records"`
	Bytes    int64 `json:"bytes"`    // of the records' values
	Counting bool  `json:"counting"` // the records that were there before the quota are not all counted yet
}

// SetQuota sets the quota of a tenant, or with the zero value removes it. A write that
// would exceed it fails with a persistable.ErrQuota; writes that make the
// tenant smaller always succeed.
//
// Each write of a tenant with a quota adds to two counters of the tenant, in its own
// transaction, so that they are exact also after conflicts and lost acknowledgements.
// It does so by atomic operations and reads them without conflicts: writers of a
// tenant do not conflict through them. Therefore the quota can be exceeded by what
// transactions that run at the same moment add together: at most one transaction's
// records for each writer. Tenants without a quota cost nothing.
//
// The first SetQuota of a tenant counts the records that are there, in many small
// transactions, while others read and write. Until it returns, the quota bounds what is
// counted. If it is interrupted, another call, in any process, continues the count. The
// records are also counted anew where a directory comes into the tenant or leaves it:
// persistable.DB.RemoveDirectory, and Copy, Import and Delete of tenants in this one.
// What comes in so is not refused, and may exceed the quota.
// A tenant that does not exist yet, or no more, is [ErrNotFound].
func (s *Set) SetQuota(ctx context.Context, name string, q Quota) error {
	err := q.Validate()
	if err == nil {
		err = s.change(ctx, name, func(tx kv.Transaction, known *tenancy.Settings, _ *directory.Directory, keys tenancy.Keys) (bool, error) {
			return applyQuota(tx, known, keys, q), nil
		})
	}
	if err == nil {
		err = missingError(tenancy.Count(ctx, s.transact, s.layer, s.Path(name)))
	}
	if err != nil {
		return fmt.Errorf("set quota of tenant %s: %w", pathText(s.Path(name)), err)
	}
	return nil
}

// applyQuota changes the settings, and reports whether that changes anything.
func applyQuota(tx kv.Transaction, known *tenancy.Settings, keys tenancy.Keys, q Quota) bool {
	next := tenancy.Quota{Records: q.Records, Bytes: q.Bytes, State: known.Quota.State}
	switch {
	case q == (Quota{}):
		next.State = tenancy.Off
		keys.ClearUsage(tx)
	case next.State == tenancy.Off:
		next.State = tenancy.Counting
		keys.ClearUsage(tx)
	}
	changed := next != known.Quota
	known.Quota = next
	return changed
}

// Usage returns the quota of a tenant and how much of it is used: zero without a quota.
func (s *Set) Usage(ctx context.Context, name string) (u Usage, err error) {
	err = s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := s.openNamed(ctx, tx, name)
		if err != nil {
			return err
		}
		known, keys, err := tenancy.Read(ctx, tx, d)
		if err != nil {
			return err
		}
		used, _, err := keys.StartReads(tx, known.Quota.State).Await(ctx)
		u = Usage{
			Quota:   Quota{Records: known.Quota.Records, Bytes: known.Quota.Bytes},
			Records: used.Records, Bytes: used.Bytes, Counting: known.Quota.State == tenancy.Counting,
		}
		return err
	})
	return u, err
}
