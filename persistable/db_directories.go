// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/persistable/tenancy"
	"github.com/kazahana-db/kazahana/kv"
)

// ListDirectory returns the names of the directories in the directory at path,
// ascending: the tenants, for example. The list is empty if there is no directory at
// the path.
func (db *DB) ListDirectory(ctx context.Context, path ...string) ([]string, error) {
	db.mustBeOpen()
	names, err := db.options.Layer.List(ctx, db.engine, path)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, nil
	}
	return names, err
}

// Layer returns the directory layer in which the directories of the types are.
func (db *DB) Layer() *directory.Layer {
	db.mustBeOpen()
	return db.options.Layer
}

// systemRoot is the directory of all that the library keeps in addition to the records, unless
// options say otherwise.
const systemRoot = "kazahana"

// HoldsSystem reports whether the directory at path is one that the library itself
// needs, or one above or below: that of page tokens, that of the leases on machine
// ids, without which two processes could make the same ids, and the directory
// kazahana with all that is in it: named leases, elections, placements, the state of the
// ID service. Such a directory must not be moved, copied over or removed, and no store is
// made there: the first write of a record is a *[DirectoryError].
func (db *DB) HoldsSystem(path ...string) bool {
	db.mustBeOpen()
	for _, system := range [][]string{{systemRoot}, db.options.SystemPath, db.options.IDs.Leases.Path} {
		if n := min(len(path), len(system)); slices.Equal(path[:n], system[:n]) {
			return true
		}
	}
	return false
}

// RemoveDirectory removes the directory at the path with all directories in it,
// all their records and their indexes: a tenant. Elements are taken as they
// are: a "/" in one has no meaning. A concurrent write into it conflicts, is
// retried, and finds the directory gone; a write that creates a record then creates
// the directory again. If there is no directory at the path, the error is
// [ErrNotFound]. The directories that the library itself needs ([DB.HoldsSystem]) are
// not removed: a *[DirectoryError]; nor is a directory that is locked, lies in a locked
// one, or has one in it: an [ErrLocked]. After a lost acknowledgement RemoveDirectory
// recognizes its own removal.
//
// Where a directory above has a quota (tenants.Set.SetQuota), RemoveDirectory then counts
// its records anew; until it returns, the quota bounds what is counted. If it is
// interrupted there, the error says so, and SetQuota with the same quota goes on.
func (db *DB) RemoveDirectory(ctx context.Context, path ...string) error {
	return db.removeDirectory(ctx, path)
}

// RemoveDirectoryIf is [DB.RemoveDirectory] of a directory that the condition allows to
// remove: of the one that a person was shown, for example, and not another one that
// was put at the path since.
func (db *DB) RemoveDirectoryIf(ctx context.Context, path []string, allow directory.Condition) error {
	return db.removeDirectory(ctx, path, allow)
}

func (db *DB) removeDirectory(ctx context.Context, path []string, conditions ...directory.Condition) error {
	switch {
	case db.HoldsSystem(path...):
		return &DirectoryError{Path: path, Reason: "it holds what the database itself needs, and cannot be removed"}
	case db.options.ReadOnly:
		return errOptionReadOnly
	}
	db = db.Maintenance()
	err := db.options.Layer.Remove(ctx, db.fencedEngine(), path, db.beginChange(ctx, nil, conditions)...)
	if errors.Is(err, directory.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err == nil {
		err = db.recount(ctx, path)
	}
	return fenceError("", nil, err)
}

// MoveDirectory moves the directory at from, with all directories in it, to the path to,
// if all conditions allow it. The parent of to must exist. It is [directory.Layer.Move] under
// the fences of the DB. Stores of the moved directories are found at the new paths. The errors
// are those of the directory layer, a *[DirectoryError] where either path is one that the
// library itself needs ([DB.HoldsSystem]), and an [ErrLocked] while the directory is
// locked, one above either path, or one in it. Directories with a quota, on one of the
// paths only, are counted anew as by [DB.RemoveDirectory].
func (db *DB) MoveDirectory(ctx context.Context, from, to []string, conditions ...directory.Condition) error {
	for _, path := range [][]string{from, to} {
		if db.HoldsSystem(path...) {
			return &DirectoryError{Path: path, Reason: "it holds what the database itself needs, and cannot be moved"}
		}
	}
	if db.options.ReadOnly {
		return errOptionReadOnly
	}
	_, err := db.options.Layer.Move(ctx, db.fencedEngine(), from, to, db.beginChange(ctx, to, conditions)...)
	if err == nil && !slices.Equal(from[:len(from)-1], to[:len(to)-1]) {
		err = cmp.Or(db.recount(ctx, from), db.recount(ctx, to))
	}
	return fenceError("", nil, err)
}

// beginChange returns the conditions of a move to a path, or if that is nil of a removal:
// that no lock forbids it, and those of the caller.
func (db *DB) beginChange(ctx context.Context, to []string, conditions []directory.Condition) []directory.Condition {
	begin := func(tx kv.ReadTransaction, d *directory.Directory) error { return db.checkChange(ctx, tx, d, to) }
	return append([]directory.Condition{begin}, conditions...)
}

// checkChange checks that no lock forbids to move a directory to a path, or if that is nil
// to remove it, and starts the recounts, in the transaction of the change.
func (db *DB) checkChange(ctx context.Context, tx kv.ReadTransaction, d *directory.Directory, to []string) error {
	layer, from := db.options.Layer, d.Path()
	all, err := layer.Subtree(ctx, tx, from)
	if err != nil {
		return err
	}
	above, common := to[:max(len(to)-1, 0)], 0
	if len(above) > 0 {
		parent, err := layer.Open(ctx, tx, above)
		if err != nil {
			return err
		}
		all = append(all, parent)
	}
	path, lock, err := tenancy.FindLock(ctx, tx, all...)
	switch {
	case err != nil:
		return fmt.Errorf("persistable: %w", err)
	case path != nil:
		return tenancy.Locked("", path, lock.Reason)
	}
	for common < min(len(above), len(from)-1) && above[common] == from[common] {
		common++
	}
	err = tenancy.StartRecount(ctx, tx.(kv.Transaction), layer, from[:len(from)-1], common)
	if err != nil {
		return err
	}
	return tenancy.StartRecount(ctx, tx.(kv.Transaction), layer, above, common)
}

// recount counts what is in the directories above a path after a change.
func (db *DB) recount(ctx context.Context, path []string) error {
	return tenancy.Recount(ctx, db.fencedEngine().Transact, db.options.Layer, path[:max(len(path)-1, 0)])
}

// fencedEngine returns the engine with transactions that commit only while the fences hold.
func (db *DB) fencedEngine() kv.Database {
	engine := db.engine
	for _, f := range db.fences {
		engine = f.Under(engine)
	}
	return engine
}
