// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// openStage makes the directories of a tenant that arrives, or finds those of an
// interrupted call. After an error, the result has those that it may have made.
func (s *Set) openStage(ctx context.Context, name, id string, m *manifest) (*stage, error) {
	g := &stage{Set: s, name: name, manifest: m, id: id}
	var err error
	if g.versions, err = m.versionIndex(); err != nil {
		return g, err
	}
	if err := m.checkArrival(s.Path(name)); err != nil {
		return g, err
	}
	if err := s.transact(ctx, func(tx kv.Transaction) error { return g.openRoot(ctx, tx) }); err != nil {
		return g, err
	}
	for batch := range slices.Chunk(m.dirs[1:], sweepDirectories) {
		if err := g.openBatch(ctx, batch); err != nil {
			return g, err
		}
	}
	return g, nil
}

// Abandon removes what an unfinished copy or import to a name has left. If that still
// runs, it fails with [ErrUnfinished]. It does nothing if there is none.
func (s *Set) Abandon(ctx context.Context, name string) error {
	return s.abandon(ctx, name, func(kv.ReadTransaction, *directory.Directory) error { return nil })
}

// abandon is [Set.Abandon] of the directory that the condition allows to remove. One that
// it refuses by [ErrUnfinished] is another call's, and stays.
func (s *Set) abandon(ctx context.Context, name string, allow directory.Condition) error {
	if err := s.checkName(name); err != nil {
		return err
	}
	path, err := s.workNow(ctx, arrivingName, name)
	if err != nil || path == nil {
		return err
	}
	d := departure{Set: s, name: name, id: newID(), path: path, allow: allow}
	if _, err = d.run(ctx); err == nil || errors.Is(err, ErrUnfinished) {
		_, err = s.sweepName(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("abandon the arrival of %s: %w", pathText(s.Path(name)), err)
	}
	return nil
}
