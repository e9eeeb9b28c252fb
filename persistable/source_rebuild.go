// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"

	"github.com/kazahana-db/kazahana/index"
)

// rebuildIndex clears the index with that name in keys and builds it again. A unique index
// is mended instead if that is possible: no entry that keeps a duplicate away is missing for
// a moment.
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
	mended, err := s.mendUnique(ctx, s.place.definitions[at])
	if err != nil {
		return err
	}
	if !mended {
		err = s.place.db.transact(ctx, func(t *transaction) error {
			return s.changeState(ctx, t, index.Disabled, func(i int, _ index.State) bool { return i == at })
		})
	}
	if err != nil {
		return err
	}
	return s.buildIndexes(ctx, o)
}

// mendUnique makes the entries of a readable unique index agree with the records, while it
// stays readable and programs write. It reports false for other indexes, and if records
// share a value or cannot be decoded.
func (s *source) mendUnique(ctx context.Context, d *index.Definition) (bool, error) {
	if !d.Unique {
		return false, nil
	}
	for range maxMendings {
		v := verifier{source: s, options: VerifyOptions{Repair: true}, index: byID, only: d}
		err := v.run(ctx)
		switch r := v.report; {
		case err != nil || len(r.Skipped) > 0:
			return false, err
		case len(r.Faults) == 0:
			return true, nil
		case r.Repaired == 0:
			return false, nil
		}
	}
	return false, nil
}

// maxMendings is how often an index is read to mend it: once to find what is at fault, and
// again to see that nothing is.
const maxMendings = 4

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
