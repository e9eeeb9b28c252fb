// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// subdirs is the first element, below a node, of its links to subdirectories.
const subdirs = 0

// partitionNodes is the byte that, after a partition's prefix, begins the
// metadata of the directories inside it.
const partitionNodes = 0xfe

// tree is the metadata of one directory layer: the outermost one or that of a
// partition. Nodes are keyed by their directories' prefixes, so moving a
// directory changes links only.
//
//	nodes + (prefix, "layer")             the directory's layer
//	nodes + (prefix, 0, name)             link: the prefix of a subdirectory
//	nodes + (nodes, "version")            the format version; (nodes) is the root node
//	nodes + (nodes, "hca", 0, start)      allocations in the allocator's window
//	nodes + (nodes, "hca", 1, candidate)  prefixes allocated there
type tree struct {
	nodes, content tuple.Subspace
	root           node
	path           []string // of the partition; empty for the outermost tree
	allocator      allocator
}

// node is the metadata of one directory.
type node struct{ tuple.Subspace }

func newTree(nodes, content tuple.Subspace, path []string) *tree {
	root := node{nodes.Sub(nodes.Bytes())}
	return &tree{nodes, content, root, path, newAllocator(root.Sub([]byte("hca")))}
}

// inPartition returns the tree inside the partition with that prefix.
func inPartition(prefix []byte, path []string) *tree {
	nodes := append(append([]byte(nil), prefix...), partitionNodes)
	return newTree(tuple.NewSubspace(nodes), tuple.NewSubspace(prefix), path)
}

func (t *tree) isOutermost() bool { return len(t.path) == 0 }

func (t *tree) node(prefix []byte) node { return node{t.nodes.Sub(prefix)} }

func (t *tree) versionKey() []byte { return t.root.Sub([]byte("version")).Bytes() }

func (n node) layerKey() []byte { return n.Sub([]byte("layer")).Bytes() }

func (n node) linkKey(name string) []byte { return n.Sub(subdirs, name).Bytes() }

// links is the range of the node's links.
func (n node) links() kv.KeyRange { return rangeOf(n.Sub(subdirs)) }

// keys is the range of all the node's metadata. It is not the range of its
// key as a prefix: a node with a prefix that continues with a zero byte lies there.
func (n node) keys() kv.KeyRange { return rangeOf(n.Subspace) }

func rangeOf(s tuple.Subspace) kv.KeyRange {
	begin, end := s.Range()
	return kv.KeyRange{Begin: begin, End: end}
}

// longestNodeKey is the room that a node's own keys need after its key.
const longestNodeKey = 32

// checkPrefix tells why a prefix can be no directory's, or returns "". It
// guards against corrupt links too: removing a directory clears its prefix.
func (t *tree) checkPrefix(prefix []byte) string {
	switch {
	case len(prefix) == 0:
		return "it is empty: it would contain every key"
	case prefix[0] == 0xff:
		return "keys from ff on belong to the system"
	case t.nodes.Contains(prefix):
		return "it lies in the metadata of the directory layer"
	case bytes.HasPrefix(t.nodes.Bytes(), prefix):
		return "it contains the metadata of the directory layer"
	case len(t.node(prefix).Bytes())+longestNodeKey > kv.MaxKeySize:
		return tooLong("metadata", len(t.node(prefix).Bytes())+longestNodeKey)
	}
	return ""
}

// concurrentReads bounds the range reads that are under way at a time.
const concurrentReads = 256

// listSubdirectories returns the prefixes to which the nodes of a level link.
func (t *tree) listSubdirectories(ctx context.Context, tx kv.ReadTransaction, level [][]byte) ([][]byte, error) {
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

// linksAfter is the range of the node's links after the one with that name.
func (n node) linksAfter(name string) kv.KeyRange {
	links := n.links()
	if name != "" {
		links.Begin = kv.Successor(n.linkKey(name))
	}
	return links
}

// allocate returns a new prefix for a directory of the tree, which does not
// overlap the prefix avoid. Keys, or directories with manual prefixes, that lie
// there already are an error: a program uses the content without the allocator.
func (t *tree) allocate(ctx context.Context, tx kv.Transaction, avoid []byte) ([]byte, error) {
	for {
		n, err := t.allocator.allocate(ctx, tx)
		if err != nil {
			return nil, err
		}
		prefix := t.content.Sub(n).Bytes()
		if avoid != nil && overlap(prefix, avoid) {
			continue
		}
		keys := tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		// Allocations must not conflict with each other, hence the snapshot. It
		// is safe: the allocator gives no other transaction this prefix.
		if err := t.checkFree(ctx, tx.Snapshot(), prefix, true); err != nil {
			return nil, err
		}
		pairs, err := keys.Slice(ctx)
		if err != nil {
			return nil, err
		}
		if len(pairs) > 0 {
			return nil, prefixError(prefix, true, "the database has keys there, which no directory owns")
		}
		return prefix, nil
	}
}

func overlap(a, b []byte) bool { return bytes.HasPrefix(a, b) || bytes.HasPrefix(b, a) }

// checkFree reports, as an error, a directory of the tree with a prefix that begins
// with prefix or with which prefix begins.
func (t *tree) checkFree(ctx context.Context, tx kv.ReadTransaction, prefix []byte, allocated bool) error {
	if reason := t.checkPrefix(prefix); reason != "" {
		return prefixError(prefix, allocated, reason)
	}
	end, _ := kv.PrefixEnd(prefix) // exists: the prefix does not begin with ff
	inside := kv.KeyRange{Begin: t.node(prefix).Bytes(), End: t.node(end).Bytes()}
	before := kv.KeyRange{Begin: rangeOf(t.nodes).Begin, End: kv.Successor(t.node(prefix).Bytes())}
	containing := tx.GetRange(before.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact})
	contained := tx.GetRange(inside.Selectors(), kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	pairs, err := containing.Slice(ctx)
	if err != nil {
		return err
	}
	if len(pairs) > 0 {
		other, err := decodeNodePrefix(t.nodes, pairs[0].Key)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(prefix, other) {
			return prefixError(prefix, allocated, "it lies in that of another directory")
		}
	}
	if pairs, err = contained.Slice(ctx); err != nil {
		return err
	}
	if len(pairs) > 0 {
		return prefixError(prefix, allocated, "it contains that of another directory")
	}
	return nil
}

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

// prefixOf returns the prefix of the directory of the tree to which a key belongs; nil
// if there is none. No directory's prefix begins with that of another one, so it is that
// of the last node that is not after the key.
func (t *tree) prefixOf(ctx context.Context, tx kv.ReadTransaction, key []byte) ([]byte, error) {
	if t.nodes.Contains(key) {
		return nil, nil
	}
	before := kv.KeyRange{Begin: rangeOf(t.nodes).Begin, End: t.node(kv.Successor(key)).Bytes()}
	pairs, err := tx.GetRange(before.Selectors(), kv.RangeOptions{Limit: 1, Reverse: true, Mode: kv.ModeExact}).Slice(ctx)
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	prefix, err := decodeNodePrefix(t.nodes, pairs[0].Key)
	if err != nil || !bytes.HasPrefix(key, prefix) || bytes.Equal(prefix, t.nodes.Bytes()) {
		return nil, err
	}
	return prefix, nil
}

// pathOf returns the path in the tree to the directory with a prefix.
func (t *tree) pathOf(ctx context.Context, tx kv.ReadTransaction, prefix []byte) ([]string, error) {
	links, err := t.linksByTarget(ctx, tx)
	if err != nil {
		return nil, err
	}
	var path []string
	for at := prefix; !bytes.Equal(at, t.nodes.Bytes()); {
		l, ok := links[string(at)]
		if !ok || len(path) > len(links) {
			return nil, &CorruptError{Key: t.node(at).Bytes(), Reason: "no links lead from the root to this directory"}
		}
		path = append(path, l.name)
		at = l.parent
	}
	slices.Reverse(path)
	return path, nil
}

// target is where a link is: the prefix of the parent, and the name in it.
type target struct {
	parent []byte
	name   string
}

// linksByTarget reads all links of the tree, by the prefix to which they lead.
func (t *tree) linksByTarget(ctx context.Context, tx kv.ReadTransaction) (map[string]target, error) {
	links := map[string]target{}
	all := tx.GetRange(rangeOf(t.nodes).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll})
	for pair, err := range all.All(ctx) {
		if err != nil {
			return nil, err
		}
		parent, err := decodeNodePrefix(t.nodes, pair.Key)
		if err != nil {
			return nil, err
		}
		name, err := decodeName(t.node(parent), pair.Key)
		if err != nil {
			continue // the layer, an annotation, or the allocator's
		}
		links[string(pair.Value)] = target{parent, name}
	}
	return links, nil
}
