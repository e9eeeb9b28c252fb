// SPDX-License-Identifier: Apache-2.0

package tenants

import (
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
// left of one, and a *persistable.LockedError while the tenant is locked.
//
// A call after an interruption also deletes a tenant that was created under the same
// name meanwhile; use Sweep if that may be.
func (s *Set) Delete(ctx context.Context, name string) error {
	err := s.delete(ctx, name)
	if err != nil {
		return fmt.Errorf("delete tenant %s: %w", pathText(s.Path(name)), err)
	}
	return nil
}

func (s *Set) delete(ctx context.Context, name string) error {
	if err := s.checkName(name); err != nil {
		return err
	}
	removed, err := s.hide(ctx, name, func(tx kv.ReadTransaction) error {
		_, err := s.openUnlocked(ctx, tx, name)
		return err
	}, s.Path(name))
	if err != nil {
		return err
	}
	swept, err := s.sweepName(ctx, name)
	if err == nil && !removed && swept == 0 {
		return ErrNotFound
	}
	return err
}

// removedName and arrivingName are the directories, in the work directory, of tenants
// that are deleted, and of those that are copied or imported.
const (
	removedName  = "removed"
	arrivingName = "arriving"
)

// hide moves the directory at path to those that are removed, if there is one and check
// allows it.
func (s *Set) hide(ctx context.Context, name string, check func(kv.ReadTransaction) error, path []string) (hidden bool, err error) {
	id := newID()
	err = s.transact(ctx, func(tx kv.Transaction) error {
		work, err := s.work(ctx, tx, removedName, name)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err == nil {
			err = s.mayChange(ctx, tx, name)
		}
		if err != nil {
			return err
		}
		to := append(slices.Clone(work), id)
		if hidden, err = s.layer.Exists(ctx, tx, to); hidden || err != nil {
			return err // by an attempt whose acknowledgement was lost
		}
		if err := check(tx); errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := s.layer.CreateOrOpen(ctx, tx, work); err != nil {
			return err
		}
		_, err = s.layer.Move(ctx, tx, path, to)
		hidden = err == nil
		return err
	})
	return hidden, err
}

// Sweep clears what interrupted calls of Delete and Abandon have left, of all tenants
// of the set. It returns how many tenants it has cleared.
func (s *Set) Sweep(ctx context.Context) (n int, err error) {
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
	_, err = s.layer.RemoveIfExists(ctx, tx, path)
	return err
}
