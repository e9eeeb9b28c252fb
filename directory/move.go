// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

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

// unknownError is the error of a move that may have committed in an earlier attempt, and
// whose directory is at neither end now.
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
