// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// buildIndexes completes the indexes that are not readable.
func (s source) buildIndexes(ctx context.Context, o BuildOptions) (err error) {
	ctx, op := s.begin(ctx, "Indexes.Build", byID)
	defer op.finish(&err)
	if err := s.mayBuild(); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	// Another program may remove an index, or build it in another layout.
	for range 3 {
		err := s.build(ctx, o)
		var state *IndexStateError
		if !errors.As(err, &state) {
			return err
		}
	}
	return fmt.Errorf("persistable: %s: other programs keep removing its indexes, or building them in another layout: update them first", s.record.Type)
}

func (s *source) mayBuild() error {
	switch err := s.checkUsable(); {
	case err != nil:
		return err
	case s.tx != nil:
		return fmt.Errorf("persistable: %s: indexes are built and verified in transactions of their own: use a store that is not bound to one", s.record.Type)
	}
	return nil
}

// changeState sets the state of the indexes for which which returns true.
func (s *source) changeState(ctx context.Context, t *transaction, to index.State, which func(int, index.State) bool) error {
	o, err := t.openStoreToWrite(ctx, s.place)
	if err != nil || o == nil {
		return err
	}
	next := o.catalog.Clone()
	for i := range o.indexes {
		if ix := &o.indexes[i]; which(i, ix.State) {
			next.SetState(ix.Definition, to)
		}
	}
	if next.Equal(o.catalog) {
		return nil
	}
	return t.changeCatalog(ctx, s.place, o, next)
}

// build completes the list of a build that is there, then builds what is disabled,
// and then makes the unique indexes without violations readable.
func (s *source) build(ctx context.Context, o BuildOptions) error {
	for found := true; found; {
		var err error
		if found, err = build.NewRun(buildStore{s}, o.internal(s.place.db.options.BuildBatch)).Build(ctx); err != nil {
			return err
		}
	}
	return s.makeReadable(ctx)
}

// buildProgress returns how far the build has come.
func (s source) buildProgress(ctx context.Context) (BuildProgress, error) {
	if err := s.mayBuild(); err != nil {
		return BuildProgress{}, err
	}
	p, err := build.ReadProgress(ctx, buildStore{&s})
	return newBuildProgress(p), err
}
