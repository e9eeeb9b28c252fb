// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"

	"github.com/kazahana-db/kazahana/index"
)

// rebuildIndex clears the index with that name in keys and builds it again.
func (s source) rebuildIndex(ctx context.Context, name string, o BuildOptions) (err error) {
	ctx, op := s.begin(ctx, "Indexes.Rebuild", byID)
	defer op.finish(&err)
	if err := cmp.Or(s.mayBuild(), o.Validate()); err != nil {
		return err
	}
	at, err := s.place.findIndex(name)
	if err != nil {
		return err
	}
	err = s.place.db.transact(ctx, func(t *transaction) error {
		return s.changeState(ctx, t, index.Disabled, func(i int, _ index.State) bool { return i == at })
	})
	if err != nil {
		return err
	}
	return s.buildIndexes(ctx, o)
}

// removeUnusedIndexes clears the entries of indexes that the type does not have any
// more.
func (s source) removeUnusedIndexes(ctx context.Context) (err error) {
	ctx, o := s.begin(ctx, "Indexes.RemoveUnused", byID)
	defer o.finish(&err)
	if err := s.mayBuild(); err != nil {
		return err
	}
	return s.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		next := o.catalog.Clone()
		for _, name := range next.RemoveUnused(s.place.definitions) {
			index.ClearUnknown(t.writer, o.prefix, name)
		}
		if next.Equal(o.catalog) {
			return nil
		}
		return t.changeCatalog(ctx, s.place, o, next)
	})
}

// dropIndex removes the index with that name in keys, whether the program has it or not:
// its definition and its entries.
func (s source) dropIndex(ctx context.Context, keyName string) (err error) {
	ctx, o := s.begin(ctx, "Indexes.Drop", byID)
	defer o.finish(&err)
	if err := s.mayBuild(); err != nil {
		return err
	}
	return s.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openStoreToWrite(ctx, s.place)
		if err != nil {
			return err
		}
		if o == nil {
			return s.place.noHeader()
		}
		next := o.catalog.Clone()
		removed := next.Remove(keyName)
		if len(removed) == 0 && t.unsure {
			return nil // an earlier attempt removed it, and has committed, or another call did
		}
		if len(removed) == 0 {
			return s.place.noIndexNamed(keyName)
		}
		for _, name := range removed {
			index.ClearUnknown(t.writer, o.prefix, name)
		}
		return t.changeCatalog(ctx, s.place, o, next)
	})
}
