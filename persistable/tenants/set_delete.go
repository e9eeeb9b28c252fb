// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Delete removes a tenant, whatever it holds. Its first transaction moves the tenant
// out of the set: from then on no program finds it, writes that have not committed
// conflict, and the name is free. Then Delete clears the contents in transactions
// of about 32 MB each, and at last the directories.
//
// If Delete is interrupted, the tenant is gone for all programs, and what is left of
// it takes space until the next Delete of that name, or [Set.Sweep], in any process.
// Delete returns [ErrNotFound] if there is neither a tenant of that name nor anything
// left of one, and a persistable.ErrLocked while the tenant, or one in it, is locked; see
// [Set.DeleteLocked].
//
// A call after an interruption also deletes a tenant that was created under the same
// name since; use Sweep or [Set.DeleteIf] if that may be.
func (s *Set) Delete(ctx context.Context, name string) error {
	return s.DeleteIf(ctx, name, func(kv.ReadTransaction, *directory.Directory) error { return nil })
}

// DeleteIf is [Set.Delete] of a tenant that the condition allows to delete: of the one
// that a person was shown, for example. A condition that returns [ErrNotFound] says that
// the tenant is another one: it stays, and only what earlier ones of the name have left
// is cleared.
func (s *Set) DeleteIf(ctx context.Context, name string, allow directory.Condition) error {
	return s.delete(ctx, &departure{name: name, allow: allow})
}

// DeleteLocked is [Set.Delete] of the tenant that has a lock: as no program has written to it
// since the lock was taken, it has nothing that an export or a copy under the lock lacks. If the
// tenant does not have the lock, it stays, and the error is [ErrLockLost]; the [Stream] of an
// export has the lock's id. It is a persistable.ErrLocked while one above the tenant, or in
// it, is locked.
func (s *Set) DeleteLocked(ctx context.Context, l Lock) error {
	if l.ID == "" {
		return fmt.Errorf("delete tenant %s: %w", pathText(s.Path(l.Tenant)), ErrLockLost)
	}
	return s.delete(ctx, &departure{name: l.Tenant, lock: l, allow: func(kv.ReadTransaction, *directory.Directory) error { return nil }})
}

// delete removes the tenant that a departure names, if it allows that.
func (s *Set) delete(ctx context.Context, d *departure) error {
	s = s.maintenance()
	allow := d.allow
	d.Set, d.id, d.path = s, newID(), s.Path(d.name)
	d.allow = func(tx kv.ReadTransaction, now *directory.Directory) error {
		if err := s.checkAllUnlocked(ctx, tx, now); err != nil {
			return err
		}
		return allow(tx, now)
	}
	if err := s.tryDelete(ctx, d); err != nil {
		return fmt.Errorf("delete tenant %s: %w", pathText(d.path), err)
	}
	return nil
}

func (s *Set) tryDelete(ctx context.Context, d *departure) error {
	if err := s.checkName(d.name); err != nil {
		return err
	}
	removed, err := d.run(ctx)
	if err != nil {
		return err
	}
	swept, err := s.sweepName(ctx, d.name)
	if err == nil && !removed && swept == 0 {
		return ErrNotFound
	}
	return errors.Join(err, s.recount(ctx))
}

// Sweep clears what interrupted calls of Delete and Abandon have left, of all tenants
// of the set. It returns how many tenants it has cleared.
func (s *Set) Sweep(ctx context.Context) (n int, err error) {
	s = s.maintenance()
	work, err := s.workNow(ctx, removedName)
	if err != nil || work == nil {
		return 0, err
	}
	names, err := s.layer.List(ctx, s.db.Engine(), work)
	if errors.Is(err, directory.ErrNotFound) {
		return 0, nil
	}
	for _, name := range names {
		swept, err := s.sweepName(ctx, name)
		if n += swept; err != nil {
			return n, err
		}
	}
	return n, err
}

// workNow is work in a transaction of its own; nil if the set does not exist.
func (s *Set) workNow(ctx context.Context, more ...string) (path []string, err error) {
	err = s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		path, err = s.work(ctx, tx, more...)
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return path, err
}

// sweepName clears all removed tenants of a name.
func (s *Set) sweepName(ctx context.Context, name string) (n int, err error) {
	work, err := s.workNow(ctx, removedName, name)
	if err != nil || work == nil {
		return 0, err
	}
	ids, err := s.layer.List(ctx, s.db.Engine(), work)
	if errors.Is(err, directory.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		w := sweep{s, append(slices.Clone(work), id)}
		if err := w.run(ctx); err != nil {
			return n, err
		}
		n++
	}
	return n, s.transact(ctx, func(tx kv.Transaction) error { return s.removeEmpty(ctx, tx, work) })
}

// removeEmpty removes a directory that has no subdirectories.
func (s *Set) removeEmpty(ctx context.Context, tx kv.Transaction, path []string) error {
	names, err := s.layer.List(ctx, tx, path)
	if errors.Is(err, directory.ErrNotFound) || len(names) > 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.checkPathUnlocked(ctx, tx, path); err != nil {
		return err
	}
	_, err = s.layer.RemoveIfExists(ctx, tx, path)
	return err
}

// Abandon removes what an unfinished copy or import to a name has left. If that still
// runs, it fails with [ErrUnfinished]. It does nothing if there is none.
func (s *Set) Abandon(ctx context.Context, name string) error {
	return s.abandon(ctx, name, func(kv.ReadTransaction, *directory.Directory) error { return nil })
}

// abandon is [Set.Abandon] of the directory that the condition allows to remove. One that
// it refuses by [ErrUnfinished] is another call's, and stays.
func (s *Set) abandon(ctx context.Context, name string, allow directory.Condition) error {
	s = s.maintenance()
	if err := s.checkName(name); err != nil {
		return err
	}
	path, err := s.workNow(ctx, arrivingName, name)
	if err != nil || path == nil {
		return err
	}
	d := departure{Set: s, name: name, id: newID(), path: path, allow: allow}
	if _, err = d.run(ctx); err == nil || errors.Is(err, ErrUnfinished) {
		_, err = s.sweepName(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("abandon the arrival of %s: %w", pathText(s.Path(name)), err)
	}
	return nil
}

// Move gives a tenant another name. It takes one transaction, whatever the tenant
// holds: keys stay where they are, with records, entries, index states, quota and
// usage. The {Field} of its records has the new name from then on, in every program.
//
// Writes under the old name that have not committed yet conflict, are retried, and find
// no records there. Errors: [ErrNotFound], [ErrExists], [ErrName], [ErrRename],
// and persistable.ErrLocked while the tenant, or one in it, is locked. After a lost
// acknowledgement Move recognizes its own move; if another process has moved or deleted the
// tenant since, the error wraps kv.ErrOutcomeUnknown.
func (s *Set) Move(ctx context.Context, from, to string) error {
	err := errors.Join(s.checkName(from), s.checkName(to))
	if err == nil {
		err = s.db.MoveDirectory(ctx, s.Path(from), s.Path(to), func(tx kv.ReadTransaction, _ *directory.Directory) error {
			return s.checkMove(ctx, tx, from)
		})
	}
	if errors.Is(err, directory.ErrExists) {
		err = cmp.Or(s.checkExisting(ctx, to), err)
	}
	if err != nil {
		return fmt.Errorf("move tenant %s to %q: %w", pathText(s.Path(from)), to, existsError(missingError(err)))
	}
	return nil
}

// checkExisting returns an [ErrName] if the directory of a name does not belong to a tenant.
func (s *Set) checkExisting(ctx context.Context, name string) error {
	return s.db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error { return s.mayChange(ctx, tx, name) })
}

// checkMove returns why a tenant cannot get another name.
func (s *Set) checkMove(ctx context.Context, tx kv.ReadTransaction, from string) error {
	if err := s.mayChange(ctx, tx, from); err != nil {
		return err
	}
	return s.checkRename(ctx, tx, from)
}

// existsError makes an error of the directory layer one of this package.
func existsError(err error) error {
	if errors.Is(err, directory.ErrExists) {
		return fmt.Errorf("%w: %w", ErrExists, err)
	}
	return err
}

// checkRename returns an [ErrRename] if a store of the tenant has an index over the
// tenant's name.
func (s *Set) checkRename(ctx context.Context, tx kv.ReadTransaction, from string) error {
	t, err := s.readTree(ctx, tx, from)
	if err != nil {
		return err
	}
	stores, err := readStores(ctx, tx, t)
	if err != nil {
		return err
	}
	return checkNames(stores, func(depth int) bool { return depth == len(s.parent) })
}
