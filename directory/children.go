// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// children is the read of the subdirectories of one directory.
type children struct {
	parent  *Directory
	tree    *tree             // in which they are
	node    node              // that links to them
	version kv.Future[[]byte] // of the tree
	links   kv.RangeResult
}

func startChildren(tx kv.ReadTransaction, parent *Directory) children {
	c := children{parent: parent, tree: parent.tree, node: parent.nodes[len(parent.nodes)-1]}
	if parent.IsPartition() {
		c.tree = inPartition(parent.prefix, parent.path)
		c.node = c.tree.root
	}
	c.version = tx.Get(c.tree.versionKey())
	c.links = tx.GetRange(c.node.links().Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
	return c
}

// await returns the subdirectories, without their layers.
func (c children) await(ctx context.Context) (all []*Directory, err error) {
	if err := c.checkVersion(ctx); err != nil {
		return nil, err
	}
	for pair, err := range c.links.All(ctx) {
		if err != nil {
			return nil, err
		}
		name, err := decodeName(c.node, pair.Key)
		if err != nil {
			return nil, err
		}
		if reason := c.checkTarget(pair.Value); reason != "" {
			return nil, &CorruptError{pair.Key, pair.Value, "not a directory's prefix: " + reason}
		}
		all = append(all, c.child(name, pair))
	}
	return all, nil
}

func (c children) checkVersion(ctx context.Context) error {
	value, err := c.version.Get(ctx)
	if err != nil || value == nil {
		return err
	}
	v, err := decodeVersion(c.tree.versionKey(), value)
	if err == nil && v.major > ownVersion.major {
		err = versionError(v, "it cannot be read")
	}
	return err
}

// checkTarget returns why a link cannot lead to that prefix, or "".
func (c children) checkTarget(prefix []byte) string {
	if reason := c.tree.checkPrefix(prefix); reason != "" {
		return reason
	}
	key := c.tree.node(prefix).Bytes()
	if slices.ContainsFunc(c.parent.nodes, func(n node) bool { return bytes.Equal(n.Bytes(), key) }) {
		return "it is that of a directory above"
	}
	return ""
}

func (c children) child(name string, link kv.KeyValue) *Directory {
	p := c.parent
	return &Directory{
		root: p.root, tree: c.tree, path: append(slices.Clip(p.path), name), prefix: link.Value,
		layers: p.layers, // its own follows
		links:  append(slices.Clip(p.links), link.Key),
		nodes:  append(slices.Clip(p.nodes), c.tree.node(link.Value)),
	}
}

// readChildren returns the subdirectories of all parents.
func readChildren(ctx context.Context, tx kv.ReadTransaction, parents []*Directory) (all []*Directory, err error) {
	var reads []children
	for _, p := range parents {
		reads = append(reads, startChildren(tx, p))
	}
	for _, r := range reads {
		below, err := r.await(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, readLayers(ctx, tx, all)
}

// readLayers completes directories that lack their own layers.
func readLayers(ctx context.Context, tx kv.ReadTransaction, all []*Directory) error {
	var keys [][]byte
	for _, d := range all {
		keys = append(keys, d.nodes[len(d.nodes)-1].layerKey())
	}
	for i, layer := range kv.GetMany(tx, keys) {
		value, err := layer.Get(ctx)
		if err != nil {
			return err
		}
		all[i].layers = append(slices.Clip(all[i].layers), string(value))
	}
	return nil
}
