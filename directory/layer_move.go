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
// acknowledgement of its own move was lost.
//
// Errors: [ErrNotFound], [ErrParentNotFound], [ErrExists] (there is a
// directory at to), [ErrMoveIntoSelf], [ErrBetweenPartitions], [ErrPath],
// [ErrVersion].
func (l *Layer) Move(ctx context.Context, t kv.Transactor, from, to []string) (*Directory, error) {
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
		if d = m.arrived(own); d != nil && maybeCommitted {
			return nil
		}
		if err := m.check(); err != nil {
			return err
		}
		own, d = string(m.from.last().prefix), m.write(tx)
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

// move is a move within one transaction: where it begins and where it ends.
type move struct{ from, to *trail }

func (l *Layer) followBoth(ctx context.Context, tx kv.Transaction, from, to []string) (move, error) {
	a, err := l.followToChange(ctx, tx, from)
	if err != nil {
		return move{}, err
	}
	b, err := l.followToChange(ctx, tx, to)
	return move{a, b}, err
}

// arrived returns the directory at the destination if nothing is left at the
// source and it has the given prefix.
func (m move) arrived(prefix string) *Directory {
	if m.from.complete() || !m.to.complete() || m.to.last() == nil || string(m.to.last().prefix) != prefix {
		return nil
	}
	return m.to.directory()
}

func (m move) check() error {
	switch {
	case !m.from.complete():
		return fmt.Errorf("%w: the source", ErrNotFound)
	case m.from.home().nodes != m.to.home().nodes:
		return ErrBetweenPartitions
	case m.to.complete():
		return fmt.Errorf("%w: the destination; remove it first", ErrExists)
	case len(m.to.found) < len(m.to.path)-1:
		return fmt.Errorf("%w (%w): create it first", ErrParentNotFound, ErrNotFound)
	}
	return m.to.checkLink()
}

// write moves the link and returns the directory at its new path.
func (m move) write(tx kv.Transaction) *Directory {
	moved := *m.from.last()
	tx.Clear(moved.link)
	moved.link = m.to.link()
	tx.Set(moved.link, moved.prefix)
	m.to.found = append(m.to.found, moved)
	return m.to.directory()
}
