// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// RebuildIndex throws the entries of the index with that name away and builds
// it again: the remedy for what Verify finds.
func (s Store[T, ID]) RebuildIndex(ctx context.Context, name string) error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	at := slices.IndexFunc(s.record.definitions, func(d *index.Definition) bool { return d.Name == name })
	if at < 0 {
		return &NoIndexError{Type: s.record.typ, Reason: fmt.Sprintf("no index has the name %q", name), Indexes: s.record.indexFields()}
	}
	err := s.place.db.transact(ctx, func(t *transaction) error {
		return s.changeState(ctx, t, index.Disabled, func(i int, _ index.State) bool { return i == at })
	})
	if err != nil {
		return err
	}
	return s.BuildIndexes(ctx)
}

// RemoveUnusedIndexes clears the entries of indexes that the type no longer
// has. Do it when no older program writes any more.
func (s Store[T, ID]) RemoveUnusedIndexes(ctx context.Context) error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	return s.place.db.transact(ctx, func(t *transaction) error {
		o, err := t.openForDeleting(ctx, s.place)
		if err != nil || o == nil {
			return err
		}
		next := o.catalog.clone()
		next.indexes = nil
		for _, ix := range o.catalog.indexes {
			if slices.ContainsFunc(s.record.definitions, func(d *index.Definition) bool { return d.KeyName() == ix.name }) {
				next.indexes = append(next.indexes, ix)
				continue
			}
			entries := tuple.AppendString(tuple.AppendString(slices.Clone(o.prefix), "I"), ix.name)
			t.writer.ClearRange(index.Bounds{}.Range(entries))
		}
		if next.equal(o.catalog) {
			return nil
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		_, err = t.setCatalog(ctx, s.place, o, next)
		return err
	})
}

func (r *record[T]) indexFields() (all [][]string) {
	for i := range r.indexes {
		all = append(all, r.indexes[i].Fields)
	}
	return all
}
