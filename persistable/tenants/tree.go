// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
)

// tree is the directories of a tenant in the order of their paths: the tenant's own
// comes first.
type tree []branch

// branch is one directory of a tenant.
type branch struct {
	path  []string // relative to the tenant's directory
	layer string
	keys  kv.KeyRange // of its contents; of a partition, also those of what is in it
}

func (b *branch) isPartition() bool { return b.layer == directory.Partition }

// readTree reads the directories at a path.
func readTree(ctx context.Context, tx kv.ReadTransaction, l *directory.Layer, path []string) (t tree, err error) {
	all, err := l.Subtree(ctx, tx, path)
	for _, d := range all {
		t = append(t, branch{d.Path()[len(path):], d.Layer(), d.Reserve()})
	}
	return t, err
}

// estimateSize adds the estimates of all directories. That of a partition has what is
// in it already.
func (t tree) estimateSize(ctx context.Context, tx kv.ReadTransaction) (total int64, err error) {
	var sizes []kv.Future[int64]
	for _, b := range t.outermost() {
		sizes = append(sizes, tx.GetEstimatedRangeSizeBytes(b.keys))
	}
	for _, size := range sizes {
		n, err := size.Get(ctx)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// outermost returns the directories that are in no partition of the tenant.
func (t tree) outermost() tree {
	var all tree
	for _, b := range t {
		if n := len(all); n > 0 && all[n-1].isPartition() && isBelow(b.path, all[n-1].path) {
			continue
		}
		all = append(all, b)
	}
	return all
}

func isBelow(path, above []string) bool {
	return len(path) > len(above) && slices.Equal(path[:len(above)], above)
}
