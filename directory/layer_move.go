// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Move moves the directory at from, with its subdirectories, to the path to,
// whose parent must exist. Its prefix stays, so moving costs the same however
// much it holds. Given a database, Move reports success also if the
// acknowledgement of its own move was lost. If another process has moved or
// removed that directory by then, the error wraps [kv.ErrOutcomeUnknown]; Move does
// not touch another directory that is at from since.
//
// Errors: [ErrNotFound], [ErrParentNotFound], [ErrExists] (there is a
// directory at to), [ErrMoveIntoSelf], [ErrBetweenPartitions], [ErrPath],
// [ErrVersion].
func (l *Layer) Move(ctx context.Context, t kv.Transactor, from, to []string) (*Directory, error) {
	return l.MoveIf(ctx, t, from, to, always)
}

// MoveIf is [Layer.Move] of a directory that the condition allows to move. The condition
// gets the directory at from.
func (l *Layer) MoveIf(ctx context.Context, t kv.Transactor, from, to []string, allow Condition) (*Directory, error) {
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
		if err := allow(tx, m.from.directory()); err != nil {
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
