// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"cmp"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// tree is the directories of a tenant, each before those in it: the tenant's own
// comes first.
type tree []branch

// branch is one directory of a tenant.
type branch struct {
	path  []string // relative to the tenant's directory
	layer string
	keys  kv.KeyRange // of its contents; of a partition, also those of what is in it
}

func (b *branch) isPartition() bool { return b.layer == directory.Partition }

// appendTree appends d and what is in it. The first cut elements of paths are left out.
func appendTree(ctx context.Context, tx kv.ReadTransaction, l *directory.Layer, t tree, d *directory.Directory, cut int) (tree, error) {
	path := d.Path()
	t = append(t, branch{path[cut:], d.Layer(), d.Reserve()})
	names, err := l.List(ctx, tx, path)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		sub, err := l.Open(ctx, tx, append(slices.Clone(path), name))
		if err != nil {
			return nil, err
		}
		if t, err = appendTree(ctx, tx, l, t, sub, cut); err != nil {
			return nil, err
		}
	}
	return t, nil
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

// records returns the ranges of all records of the tenant, ascending.
func (t tree) records() (all []kv.KeyRange) {
	for _, b := range t {
		if !b.isPartition() {
			all = append(all, kv.PrefixRange(tuple.AppendString(slices.Clone(b.keys.Begin), "R")))
		}
	}
	slices.SortFunc(all, func(a, b kv.KeyRange) int { return cmp.Compare(string(a.Begin), string(b.Begin)) })
	return all
}
