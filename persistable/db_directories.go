// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Layer returns the directory layer in which the directories of the types are.
func (db *DB) Layer() *directory.Layer {
	db.mustBeOpen()
	return db.options.Layer
}

// systemRoot is the directory of all that the library keeps beside the records, unless
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
// not removed: a *[DirectoryError]. After a lost acknowledgement RemoveDirectory
// recognizes its own removal.
func (db *DB) RemoveDirectory(ctx context.Context, path ...string) error {
	return db.RemoveDirectoryIf(ctx, func(kv.ReadTransaction, *directory.Directory) error { return nil }, path...)
}

// RemoveDirectoryIf is [DB.RemoveDirectory] of a directory that the condition allows to
// remove: of the one that a person was shown, for example, and not another one that
// was put at the path since.
func (db *DB) RemoveDirectoryIf(ctx context.Context, allow directory.Condition, path ...string) error {
	switch {
	case db.HoldsSystem(path...):
		return &DirectoryError{Path: path, Reason: "it holds what the database itself needs, and is not removed"}
	case db.options.ReadOnly:
		return ErrReadOnly
	}
	err := db.options.Layer.RemoveIf(ctx, db.fencedEngine(), path, allow)
	if errors.Is(err, directory.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return fenceError("", nil, err)
}

// MoveDirectoryIf moves the directory at from, with all directories in it, to the path to,
// whose parent must exist, if the condition allows it: [directory.Layer.MoveIf] under the
// fences of the DB. Stores of the moved directories are found at the new paths. The errors
// are those of the directory layer, and a *[DirectoryError] where either path is one that the
// library itself needs ([DB.HoldsSystem]).
func (db *DB) MoveDirectoryIf(ctx context.Context, from, to []string, allow directory.Condition) error {
	for _, path := range [][]string{from, to} {
		if db.HoldsSystem(path...) {
			return &DirectoryError{Path: path, Reason: "it holds what the database itself needs, and is not moved"}
		}
	}
	if db.options.ReadOnly {
		return ErrReadOnly
	}
	_, err := db.options.Layer.MoveIf(ctx, db.fencedEngine(), from, to, allow)
	return fenceError("", nil, err)
}

// fencedEngine returns the engine, whose transactions commit only while the fences hold.
func (db *DB) fencedEngine() kv.Database {
	engine := db.engine
	for _, f := range db.fences {
		engine = f.Under(engine)
	}
	return engine
}
