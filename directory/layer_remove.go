// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// Remove removes the directory at path with its subdirectories and all their
// contents. Given a database, it reports success also if the acknowledgement
// of its own removal was lost. Handles of removed directories must not be used
// any more; a [Cache] sees to that.
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
		// If there is another directory now, ours is gone for certain.
		if !t.complete() || before && string(t.last().prefix) != gone {
			removed = before
			return nil
		}
		removed, gone = true, string(t.last().prefix)
		return t.remove(ctx, tx)
	})
	if err != nil {
		return false, fmt.Errorf("remove directory %s: %w", pathString(path), err)
	}
	return removed, nil
}

// followToChange is follow for verbs that change links.
func (l *Layer) followToChange(ctx context.Context, tx kv.Transaction, path []string) (*trail, error) {
	t, err := l.follow(ctx, tx, path)
	if err != nil {
		return nil, err
	}
	return t, t.makeWritable(tx)
}

// remove removes the last element of a complete trail. The subdirectories go
// level by level, each level being one round of reads; partitions need none,
// since all that is theirs lies in their prefix.
func (t *trail) remove(ctx context.Context, tx kv.Transaction) error {
	tree, level := t.home(), [][]byte{t.last().prefix}
	for len(level) > 0 {
		below, err := tree.subdirectories(ctx, tx, level)
		if err != nil {
			return err
		}
		for _, prefix := range level {
			tx.ClearRange(kv.PrefixRange(prefix))
			tx.ClearRange(tree.node(prefix).keys())
		}
		level = below
	}
	tx.Clear(t.last().link)
	return Invalidate(ctx, tx)
}

// concurrentReads bounds the range reads that are under way at a time.
const concurrentReads = 256

// subdirectories returns the prefixes to which the nodes of a level link.
func (t *tree) subdirectories(ctx context.Context, tx kv.ReadTransaction, level [][]byte) ([][]byte, error) {
	var below [][]byte
	for len(level) > 0 {
		n := min(len(level), concurrentReads)
		var err error
		if below, err = t.appendLinked(ctx, tx, below, level[:n]); err != nil {
			return nil, err
		}
		level = level[n:]
	}
	return below, nil
}

func (t *tree) appendLinked(ctx context.Context, tx kv.ReadTransaction, below, level [][]byte) ([][]byte, error) {
	var reads []kv.RangeResult
	for _, prefix := range level {
		reads = append(reads, tx.GetRange(t.node(prefix).links().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}))
	}
	for _, read := range reads {
		for pair, err := range read.All(ctx) {
			if err != nil {
				return nil, err
			}
			if reason := t.checkPrefix(pair.Value); reason != "" {
				return nil, &CorruptError{pair.Key, pair.Value, "not a directory's prefix: " + reason}
			}
			below = append(below, pair.Value)
		}
	}
	return below, nil
}
