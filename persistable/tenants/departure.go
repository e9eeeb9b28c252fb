// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/tenancy"
)

// removedName and arrivingName are the directories, in the work directory, of tenants
// that are deleted, and of those that are copied or imported.
const (
	removedName  = "removed"
	arrivingName = "arriving"
)

// departure moves the directory at a path to those that are removed, over all attempts
// of its transaction.
type departure struct {
	*Set
	name  string
	id    string // of the directory among those that are removed
	path  []string
	lock  Lock // which the tenant has, and which ends with it; zero: it must not have one
	allow directory.Condition

	hidden bool
	exists []byte // the key that exists as long as the directory of the last attempt; nil: there was none
}

// run reports whether the directory is hidden. It is not if there is none.
func (d *departure) run(ctx context.Context) (hidden bool, err error) {
	err = d.transact(ctx, func(tx kv.Transaction) error {
		err := d.attempt(ctx, tx)
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	})
	return d.hidden, err
}

// attempt returns [ErrNotFound] if there is no directory.
func (d *departure) attempt(ctx context.Context, tx kv.Transaction) error {
	work, err := d.work(ctx, tx, removedName, d.name)
	if err == nil {
		err = d.mayChange(ctx, tx, d.name)
	}
	if err != nil {
		return err
	}
	to := append(slices.Clone(work), d.id)
	if d.hidden, err = d.movedBefore(ctx, tx, to); d.hidden || err != nil {
		return err
	}
	now, err := d.openPath(ctx, tx, d.path)
	if err == nil && d.lock.ID != "" {
		err = d.endLock(ctx, tx, now)
	}
	if err == nil {
		err = CheckUnlocked(ctx, tx, now)
	}
	if err == nil {
		err = d.allow(tx, now)
	}
	if err != nil {
		return err
	}
	if _, err := d.layer.CreateOrOpen(ctx, tx, work); err != nil {
		return err
	}
	tx.Clear(arrivalKey(now)) // a copy or import that still runs sees that it was abandoned
	if _, err = d.layer.Move(ctx, tx, d.path, to); err != nil {
		return err
	}
	d.hidden, d.exists = true, now.Metadata().LayerKey(now.Reserve().Begin)
	if !slices.Equal(d.path, d.Path(d.name)) {
		return nil // what arrives is not counted
	}
	return tenancy.StartRecount(ctx, tx, d.layer, d.parent, 0)
}

// endLock ends the lock of the directory. If the attempt fails later, the lock stays.
func (d *departure) endLock(ctx context.Context, tx kv.Transaction, now *directory.Directory) error {
	known, _, err := tenancy.Read(ctx, tx, now)
	if err != nil {
		return err
	}
	if known.Lock.ID != d.lock.ID {
		return ErrLockLost
	}
	known.Lock = tenancy.Lock{}
	return known.Write(ctx, tx, now)
}

// movedBefore reports whether an earlier attempt, whose acknowledgement was lost, has
// moved the directory. If another process has cleared it since, it is nowhere; another
// directory may be at its path then, and stays.
func (d *departure) movedBefore(ctx context.Context, tx kv.ReadTransaction, to []string) (bool, error) {
	if d.exists == nil {
		return false, nil
	}
	there, err := d.layer.Exists(ctx, tx, to)
	if there || err != nil {
		return there, err
	}
	layer, err := tx.Get(d.exists).Get(ctx)
	return err == nil && layer == nil, err
}
