// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Subtree returns the directory at path and all directories in it, those in
// partitions as well, each before those that it contains, in the order of their paths.
// It reads one version, in two rounds for each level and 256 directories of it.
//
// Errors: those of [Layer.Open], and [ErrCorrupt].
func (l *Layer) Subtree(ctx context.Context, t kv.ReadTransactor, path []string) ([]*Directory, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) ([]*Directory, error) {
		top, err := l.Open(ctx, tx, path)
		if err != nil {
			return nil, err
		}
		all := []*Directory{top}
		for read := 0; read < len(all); {
			parents := all[read:min(read+concurrentReads, len(all))]
			below, err := readChildren(ctx, tx, parents)
			if err != nil {
				return nil, fmt.Errorf("list below directory %s: %w", pathString(path), err)
			}
			read += len(parents)
			all = append(all, below...)
		}
		slices.SortFunc(all, func(a, b *Directory) int { return slices.Compare(a.path, b.path) })
		return all, nil
	})
}
