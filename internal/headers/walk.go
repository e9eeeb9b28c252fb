// SPDX-License-Identifier: Apache-2.0

package headers

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// Store is where a store is: the directory and the type of its records.
type Store struct {
	Path []string
	Type string
}

// Walk yields the stores in the directory at the path and below it: each directory before those
// in it, in the order of the names, and in a directory the types in their order. A directory that
// is removed during the walk is left out. If there is none at the path, the error is
// [directory.ErrNotFound]. Directories that cannot be read hide no others: the error comes last, and
// joins theirs.
//
// Cost: for each directory a transaction of its own, with one round of reads for each type and two
// more, and another one for each thousand directories in it.
func Walk(ctx context.Context, db kv.Database, layer *directory.Layer, path []string) iter.Seq2[Store, error] {
	return func(yield func(Store, error) bool) {
		w := walk{ctx: ctx, db: db, layer: layer, yield: yield}
		err := w.visit(path)
		if errors.Is(err, errEnough) {
			return
		}
		if err := errors.Join(err, w.damage); err != nil {
			yield(Store{}, err)
		}
	}
}

// errEnough ends a walk.
var errEnough = errors.New("headers: the caller wants no more")

// walk is one walk over the directories.
type walk struct {
	ctx   context.Context
	db    kv.Database
	layer *directory.Layer
	yield func(Store, error) bool

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
	found, names, err := w.readDirectory(path)
	if err := w.keepDamage(err); err != nil {
		return err
	}
	for _, h := range found {
		if !w.yield(Store{path, h.Type}, nil) {
			return errEnough
		}
	}
	for len(names) > 0 {
		if err := w.visitAll(path, names); err != nil {
			return err
		}
		names, err = w.layer.ListAfter(w.ctx, w.db, path, names[len(names)-1], namesOfPage)
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
func (w *walk) readDirectory(path []string) (found []Header, names []string, err error) {
	err = w.db.ReadTransact(w.ctx, func(tx kv.ReadTransaction) error {
		var damage error
		if names, damage = w.layer.ListAfter(w.ctx, tx, path, "", namesOfPage); len(path) == 0 || damage != nil && !errors.Is(damage, directory.ErrCorrupt) {
			return damage
		}
		_, found, err = ReadAt(w.ctx, tx, w.layer, path)
		return errors.Join(err, damage)
	})
	return found, names, err
}

// ReadAt opens the directory at a path and reads the headers in it. A partition has none.
func ReadAt(ctx context.Context, tx kv.ReadTransaction, layer *directory.Layer, path []string) (*directory.Directory, []Header, error) {
	d, err := layer.Open(ctx, tx, path)
	if err != nil || d.IsPartition() {
		return d, nil, err
	}
	prefix, err := d.Prefix()
	if err != nil {
		return nil, nil, err
	}
	found, err := Read(ctx, tx, prefix)
	return d, found, err
}
