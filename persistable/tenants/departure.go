// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
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
	clearArrival(tx, now)
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

// sweep clears one tenant that was moved out of its set. Several sweeps of one tenant
// may run at once.
type sweep struct {
	*Set
	path []string
}

const (
	sweepBytes       = 32 << 20 // about how much a transaction clears
	sweepDirectories = 50       // how many directories a transaction removes
)

// run clears the contents of all directories, then removes the directories, the
// innermost first.
func (s sweep) run(ctx context.Context) error {
	t, err := s.readTree(ctx)
	if err != nil {
		return err
	}
	for i := range t {
		if err := s.clear(ctx, &t[i]); err != nil {
			return err
		}
	}
	slices.Reverse(t)
	for batch := range slices.Chunk(t, sweepDirectories) {
		err := s.transact(ctx, func(tx kv.Transaction) error { return s.remove(ctx, tx, batch) })
		if err != nil {
			return err
		}
	}
	return nil
}

// readTree reads the directories; none if another sweep has removed them. What is in a
// partition goes with it.
func (s sweep) readTree(ctx context.Context) (tree, error) {
	t, err := kv.ReadTransact(ctx, s.db.Engine(), func(tx kv.ReadTransaction) (tree, error) {
		return readTree(ctx, tx, s.layer, s.path)
	})
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	return t.outermost(), err
}

// clear clears the contents of a directory, part by part.
func (s sweep) clear(ctx context.Context, b *branch) error {
	points, err := kv.ReadTransact(ctx, s.db.Engine(), func(tx kv.ReadTransaction) ([][]byte, error) {
		return tx.GetRangeSplitPoints(b.keys, sweepBytes).Get(ctx)
	})
	if err != nil {
		return err
	}
	for i := range len(points) - 1 {
		part := kv.KeyRange{Begin: points[i], End: points[i+1]}
		if err := s.transact(ctx, func(tx kv.Transaction) error { return s.clearPart(ctx, tx, b, part) }); err != nil {
			return err
		}
	}
	return nil
}

// clearPart clears a part of a directory if it is still there.
func (s sweep) clearPart(ctx context.Context, tx kv.Transaction, b *branch, part kv.KeyRange) error {
	d, err := s.layer.Open(ctx, tx, slices.Concat(s.path, b.path))
	if errors.Is(err, directory.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = CheckUnlocked(ctx, tx, d) // a partition that has it may be locked
	}
	if err == nil && bytes.Equal(d.Reserve().Begin, b.keys.Begin) {
		tx.ClearRange(part)
	}
	return err
}

func (s sweep) remove(ctx context.Context, tx kv.Transaction, all tree) error {
	if err := s.checkPathUnlocked(ctx, tx, s.path); err != nil {
		return err
	}
	for i := range all {
		if _, err := s.layer.RemoveIfExists(ctx, tx, slices.Concat(s.path, all[i].path)); err != nil {
			return err
		}
	}
	return nil
}
