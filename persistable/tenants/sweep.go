// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

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
