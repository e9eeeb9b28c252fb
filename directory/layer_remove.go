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
	return l.RemoveIf(ctx, t, path, always)
}

// RemoveIf is [Layer.Remove] of a directory that the condition allows to remove.
func (l *Layer) RemoveIf(ctx context.Context, t kv.Transactor, path []string, allow Condition) error {
	removed, err := l.remove(ctx, t, path, allow)
	if err == nil && !removed {
		return fmt.Errorf("remove directory %s: %w", pathString(path), ErrNotFound)
	}
	return err
}

// RemoveIfExists is [Layer.Remove], and reports whether there was a directory
// instead of failing with ErrNotFound.
func (l *Layer) RemoveIfExists(ctx context.Context, t kv.Transactor, path []string) (bool, error) {
	return l.remove(ctx, t, path, always)
}

func (l *Layer) remove(ctx context.Context, t kv.Transactor, path []string, allow Condition) (bool, error) {
	if len(path) == 0 {
		return false, fmt.Errorf("%w: it cannot be removed", ErrRoot)
	}
	if err := l.checkPath(path); err != nil {
		return false, err
	}
	r := removal{layer: l, path: path, allow: allow}
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
