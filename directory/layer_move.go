// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Move moves the directory at from, with its subdirectories, to the path to.
// The parent of to must exist. The directory keeps its prefix, so moving costs the same however
// much it holds. Given a database, Move reports success even if the
// acknowledgement of its own move was lost. If another process has moved or
// removed that directory by then, the error wraps [kv.ErrOutcomeUnknown]; Move does
// not touch another directory that is at from since.
//
// The conditions get the directory at from; all of them must allow the move.
//
// Errors: [ErrNotFound], [ErrParentNotFound], [ErrExists] (there is a
// directory at to), [ErrMoveIntoSelf], [ErrBetweenPartitions], [ErrPath],
// [ErrVersion], those of the conditions.
func (l *Layer) Move(ctx context.Context, t kv.Transactor, from, to []string, conditions ...Condition) (*Directory, error) {
	if err := l.checkMove(from, to); err != nil {
		return nil, err
	}
	from, to = slices.Clone(from), slices.Clone(to)
	var d *Directory
	var own string // the prefix that an earlier attempt moved
	err := change(ctx, t, func(tx kv.Transaction, maybeCommitted bool) error {
		m, err := l.followBoth(ctx, tx, from, to)
		if err != nil {
			return err
		}
		//persistvet:ignore txescape the caller asked for the directory, and is told to use it in one transaction
		if d = m.movedBefore(own); d != nil && maybeCommitted {
			return nil
		}
		if maybeCommitted && own != "" && !m.isAtSource(own) {
			return m.unknownError()
		}
		if err := m.checkEnds(); err != nil {
			return err
		}
		if err := checkConditions(tx, m.from, conditions); err != nil {
			return err
		}
		own, d = string(m.from.last().prefix), m.moveLink(tx)
		return Invalidate(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("move directory %s to %s: %w", pathString(from), pathString(to), err)
	}
	return d, nil
}

func (l *Layer) checkMove(from, to []string) error {
	if hasPrefix(to, from) {
		return fmt.Errorf("move directory %s to %s: %w", pathString(from), pathString(to), ErrMoveIntoSelf)
	}
	if err := l.checkPath(from); err != nil {
		return err
	}
	return l.checkPath(to)
}

func (l *Layer) followBoth(ctx context.Context, tx kv.Transaction, from, to []string) (move, error) {
	a, err := l.followToChange(ctx, tx, from)
	if err != nil {
		return move{}, err
	}
	b, err := l.followToChange(ctx, tx, to)
	return move{a, b}, err
}

// move is a move within one transaction: where it begins and where it ends.
type move struct{ from, to *trail }

// movedBefore returns the directory at the destination if it has the given prefix. A
// prefix has one path: what is at the source then is another directory.
func (m move) movedBefore(prefix string) *Directory {
	if !m.to.isComplete() || m.to.last() == nil || string(m.to.last().prefix) != prefix {
		return nil
	}
	return m.to.directory()
}

// isAtSource reports whether the directory at the source has the given prefix.
func (m move) isAtSource(prefix string) bool {
	return m.from.isComplete() && string(m.from.last().prefix) == prefix
}

// unknownError is the error of a move that may have committed in an earlier attempt, when
// the directory is at neither end now.
func (m move) unknownError() error {
	err := fmt.Errorf("%w: after that, another process has moved or removed the directory", kv.ErrOutcomeUnknown)
	if !m.from.isComplete() {
		err = fmt.Errorf("%w: %w: the source", err, ErrNotFound)
	}
	return err
}

func (m move) checkEnds() error {
	switch {
	case !m.from.isComplete():
		return fmt.Errorf("%w: the source", ErrNotFound)
	case m.from.home().nodes != m.to.home().nodes:
		return ErrBetweenPartitions
	case m.to.isComplete():
		return fmt.Errorf("%w: the destination; remove it first", ErrExists)
	case len(m.to.found) < len(m.to.path)-1:
		return fmt.Errorf("%w (%w): create it first", ErrParentNotFound, ErrNotFound)
	}
	return m.to.checkLink()
}

// moveLink moves the link and returns the directory at its new path.
func (m move) moveLink(tx kv.Transaction) *Directory {
	moved := *m.from.last()
	tx.Clear(moved.link)
	moved.link = m.to.link()
	tx.Set(moved.link, moved.prefix)
	m.to.found = append(m.to.found, moved)
	return m.to.directory()
}

// Remove removes the directory at path with its subdirectories and all their
// contents. Given a database, it reports success also if the acknowledgement
// of its own removal was lost. Do not use a [*Directory] of a removed directory any
// more; a [Cache] returns none. All conditions must allow the removal.
//
// Errors: [ErrNotFound], [ErrRoot], [ErrPath], [ErrVersion], [ErrCorrupt], those of the
// conditions.
func (l *Layer) Remove(ctx context.Context, t kv.Transactor, path []string, conditions ...Condition) error {
	removed, err := l.RemoveIfExists(ctx, t, path, conditions...)
	if err == nil && !removed {
		return fmt.Errorf("remove directory %s: %w", pathString(path), ErrNotFound)
	}
	return err
}

// RemoveIfExists is [Layer.Remove], and reports whether there was a directory
// instead of failing with ErrNotFound.
func (l *Layer) RemoveIfExists(ctx context.Context, t kv.Transactor, path []string, conditions ...Condition) (bool, error) {
	if len(path) == 0 {
		return false, fmt.Errorf("%w: it cannot be removed", ErrRoot)
	}
	if err := l.checkPath(path); err != nil {
		return false, err
	}
	r := removal{layer: l, path: path, conditions: conditions}
	if err := change(ctx, t, r.attempt(ctx)); err != nil {
		return false, fmt.Errorf("remove directory %s: %w", pathString(path), err)
	}
	return r.removed, nil
}

// followToChange is followPath for verbs that change links.
func (l *Layer) followToChange(ctx context.Context, tx kv.Transaction, path []string) (*trail, error) {
	t, err := l.followPath(ctx, tx, path)
	if err != nil {
		return nil, err
	}
	return t, t.makeWritable(tx)
}

// removal is a removal over all attempts of its transaction.
type removal struct {
	layer      *Layer
	path       []string
	conditions []Condition
	removed    bool
	before     *element // the directory of the last attempt; nil: there was none
}

// attempt returns the function of the transaction.
func (r *removal) attempt(ctx context.Context) func(kv.Transaction, bool) error {
	return func(tx kv.Transaction, maybeCommitted bool) error {
		t, err := r.layer.followToChange(ctx, tx, r.path)
		if err != nil {
			return err
		}
		r.removed = false
		if maybeCommitted {
			if r.removed, err = r.wasRemoved(ctx, tx); r.removed || err != nil {
				return err
			}
		}
		if !t.isComplete() {
			return nil
		}
		if err := checkConditions(tx, t, r.conditions); err != nil {
			return err
		}
		r.removed, r.before = true, t.last()
		return t.removeLast(ctx, tx)
	}
}

// wasRemoved reports whether the directory of an earlier attempt is there no more,
// neither at the path nor, because it was moved, at another one. Its prefix tells: no
// other directory gets it, so another directory that is at the path now stays.
func (r *removal) wasRemoved(ctx context.Context, tx kv.Transaction) (bool, error) {
	if r.before == nil {
		return false, nil
	}
	layer, err := tx.Get(r.before.tree.node(r.before.prefix).layerKey()).Get(ctx)
	return err == nil && layer == nil, err
}
