// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// Remove removes the directory at path with its subdirectories and all their
// contents. Given a database, it reports success also if the acknowledgement
// of its own removal was lost. Do not use a [*Directory] of a removed directory any
// more; a [Cache] returns none.
//
// Errors: [ErrNotFound], [ErrRoot], [ErrPath], [ErrVersion], [ErrCorrupt].
func (l *Layer) Remove(ctx context.Context, t kv.Transactor, path []string) error {
	removed, err := l.RemoveIfExists(ctx, t, path)
	if err == nil && !removed {
		return fmt.Errorf("remove directory %s: %w", pathString(path), ErrNotFound)
	}
	return err
}

// RemoveIfExists is [Layer.Remove], and reports whether there was a directory
// instead of failing with ErrNotFound.
func (l *Layer) RemoveIfExists(ctx context.Context, t kv.Transactor, path []string) (bool, error) {
	if len(path) == 0 {
		return false, fmt.Errorf("%w: it cannot be removed", ErrRoot)
	}
	if err := l.checkPath(path); err != nil {
		return false, err
	}
	var removed bool
	var gone string // the prefix that an earlier attempt removed
	err := change(ctx, t, func(tx kv.Transaction, maybeCommitted bool) error {
		t, err := l.followToChange(ctx, tx, path)
		if err != nil {
			return err
		}
		before := maybeCommitted && gone != ""
		// If there is another directory now, the earlier attempt did remove ours.
		if !t.isComplete() || before && string(t.last().prefix) != gone {
			removed = before
			return nil
		}
		removed, gone = true, string(t.last().prefix)
		return t.removeLast(ctx, tx)
	})
	if err != nil {
		return false, fmt.Errorf("remove directory %s: %w", pathString(path), err)
	}
	return removed, nil
}

// followToChange is followPath for verbs that change links.
func (l *Layer) followToChange(ctx context.Context, tx kv.Transaction, path []string) (*trail, error) {
	t, err := l.followPath(ctx, tx, path)
	if err != nil {
		return nil, err
	}
	return t, t.makeWritable(tx)
}
