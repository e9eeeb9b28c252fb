// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// creation is what a creating verb was asked for.
type creation struct {
	path   []string
	shift  int // how many elements of path are not the caller's
	prefix []byte
	orOpen bool
	want   expectations
}

// checkExisting checks a directory that exists already. If it is the
// caller's own, created by an attempt whose acknowledgement was lost, it counts
// as created.
func (c creation) checkExisting(t *trail, own bool) error {
	if !c.orOpen && !own {
		return ErrExists
	}
	return t.checkLayers(c.want)
}

// createMissing creates what a trail did not find. Nothing is linked before all
// prefixes are known to be good, so that a transaction which goes on after an
// error holds no half of a path.
func (c creation) createMissing(ctx context.Context, tx kv.Transaction, t *trail) (*Directory, error) {
	if err := t.checkLayers(c.want); err != nil {
		return nil, err
	}
	if err := t.makeWritable(tx); err != nil {
		return nil, err
	}
	if err := c.checkPrefix(ctx, tx, t); err != nil {
		return nil, err
	}
	begin := len(t.found)
	for i := begin; i < len(c.path); i++ {
		if err := c.planElement(ctx, tx, t, i); err != nil {
			return nil, err
		}
	}
	for i, e := range t.found[begin:] {
		tx.Set(e.link, e.prefix)
		tx.Set(e.tree.node(e.prefix).layerKey(), []byte(e.layer))
		if inner := begin+i+1 < len(c.path) && e.layer == Partition; inner {
			tx.Set(inPartition(e.prefix, nil).versionKey(), ownVersion.encode())
		}
	}
	return t.directory(), nil
}

// checkPrefix checks a prefix chosen by the caller, if there is one.
func (c creation) checkPrefix(ctx context.Context, tx kv.Transaction, t *trail) error {
	if c.prefix == nil {
		return nil
	}
	inPartition := !t.tree.isOutermost()
	for i := len(t.found); i < len(c.path)-1; i++ {
		layer, _ := c.want.of(i)
		inPartition = inPartition || layer == Partition
	}
	if inPartition {
		return fmt.Errorf("%w: the keys of a partition share its prefix", ErrManualPrefix)
	}
	return t.tree.checkFree(ctx, tx, c.prefix, false)
}

// planElement adds the path's element i to the trail as it is going to be.
func (c creation) planElement(ctx context.Context, tx kv.Transaction, t *trail, i int) error {
	if err := t.checkLink(); err != nil {
		return err
	}
	e := element{tree: t.tree, link: t.link(), prefix: c.prefix}
	e.layer, _ = c.want.of(i)
	if last := i == len(c.path)-1; !last || c.prefix == nil {
		var err error
		if e.prefix, err = t.tree.allocate(ctx, tx, c.prefix); err != nil {
			return err
		}
	}
	t.found = append(t.found, e)
	if e.layer == Partition {
		t.tree = inPartition(e.prefix, slices.Clone(c.path[:i+1]))
		t.parent = t.tree.root
	} else {
		t.parent = t.tree.node(e.prefix)
	}
	return nil
}
