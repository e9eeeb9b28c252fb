// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/headers"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// Location is where a store is: the directory and the type of its records.
type Location struct {
	Path []string
	Type string
}

// String shows the location to people.
func (l Location) String() string { return fmt.Sprintf("%q of %s", strings.Join(l.Path, "/"), l.Type) }

// Stores yields the stores in the directory at the path and below it, all of the database
// without a path, by their headers: each directory before those in it, in the order of
// the names, and in a directory the types in their order. A directory that is removed
// during the walk is left out. If there is no directory at the path, the error is
// [persistable.ErrNotFound]. Directories that cannot be read hide no others: the error comes
// last, and joins theirs.
//
// Cost: for each directory a transaction of its own, with one round of reads for each
// type and two more, and another one for each thousand directories in it.
func Stores(ctx context.Context, db *persistable.DB, path ...string) iter.Seq2[Location, error] {
	return func(yield func(Location, error) bool) {
		w := walk{ctx: ctx, db: db, yield: yield}
		err := w.visit(path)
		if !errors.Is(err, errEnough) {
			err = errors.Join(err, w.damage)
		}
		if errors.Is(err, directory.ErrNotFound) {
			err = fmt.Errorf("%w: %w", persistable.ErrNotFound, err)
		}
		if err != nil && !errors.Is(err, errEnough) {
			yield(Location{}, err)
		}
	}
}

// errEnough ends a walk.
var errEnough = errors.New("dynamic: the caller wants no more")

// walk is one walk over the directories.
type walk struct {
	ctx   context.Context
	db    *persistable.DB
	yield func(Location, error) bool

	damage error // of directories that cannot be read
}

// keepDamage keeps the error of directories that cannot be read, and returns others.
func (w *walk) keepDamage(err error) error {
	if errors.Is(err, directory.ErrCorrupt) {
		w.damage = errors.Join(w.damage, err)
		return nil
	}
	return err
}

// visit yields the stores of a directory and of those in it.
func (w *walk) visit(path []string) error {
	found, names, err := readDirectory(w.ctx, w.db, path)
	if err := w.keepDamage(err); err != nil {
		return err
	}
	for _, h := range found {
		if !w.yield(Location{Path: path, Type: h.Type}, nil) {
			return errEnough
		}
	}
	for len(names) > 0 {
		if err := w.visitAll(path, names); err != nil {
			return err
		}
		names, err = w.db.Layer().ListAfter(w.ctx, w.db.Engine(), path, names[len(names)-1], namesOfPage)
		if errors.Is(err, directory.ErrNotFound) {
			return nil // it was removed during the walk
		}
		if err := w.keepDamage(err); err != nil {
			return err
		}
	}
	return nil
}

// visitAll visits directories in the one at a path, but those that were removed since they were listed.
func (w *walk) visitAll(path, names []string) error {
	for _, name := range names {
		err := w.visit(append(slices.Clip(path), name))
		if err != nil && !errors.Is(err, directory.ErrNotFound) {
			return err
		}
	}
	return nil
}

// namesOfPage is how many names of directories a transaction reads.
const namesOfPage = 1000

// readDirectory reads the headers in a directory, and the first names of those in it.
func readDirectory(ctx context.Context, db *persistable.DB, path []string) (found []headers.Header, names []string, err error) {
	err = db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		var damage error
		if names, damage = db.Layer().ListAfter(ctx, tx, path, "", namesOfPage); len(path) == 0 || damage != nil && !errors.Is(damage, directory.ErrCorrupt) {
			return damage
		}
		_, found, err = readHeaders(ctx, db, tx, path)
		return errors.Join(err, damage)
	})
	return found, names, err
}

// readHeaders opens a directory and reads the headers in it. A partition has none.
func readHeaders(ctx context.Context, db *persistable.DB, tx kv.ReadTransaction, path []string) (*directory.Directory, []headers.Header, error) {
	d, err := db.Layer().Open(ctx, tx, path)
	if err != nil || d.IsPartition() {
		return d, nil, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return nil, nil, err
	}
	found, err := headers.Read(ctx, tx, prefix)
	return d, found, err
}

// ErrSeveralTypes: [Open] got no type for a directory that has stores of several types, which
// the text names: name one.
var ErrSeveralTypes = errors.New("dynamic: the directory has stores of several types")
