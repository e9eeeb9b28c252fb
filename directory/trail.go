// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// trail is a path followed through the stored links: the elements that exist,
// where the next one would be, and all that was read for it.
type trail struct {
	layer   *Layer
	path    []string
	found   []element       // the leading elements of path that exist
	tree    *tree           // where the next element has its node
	parent  node            // the node that would link to it
	trees   []versionedTree // the trees passed, outermost first
	facts   []fact          // what was read
	pending []pendingRead
}

// element is one directory on a trail.
type element struct {
	tree   *tree  // the tree of the node
	link   []byte // the key of the link to it
	prefix []byte
	layer  string
}

// versionedTree is a tree with the version that its root node holds, nil if it has
// none because nothing was written there yet.
type versionedTree struct {
	*tree
	version *version
}

// fact is a key and the value that it had: nil for none.
type fact struct{ key, value []byte }

// pendingRead is a read that was started, and what to do with its value.
type pendingRead struct {
	key    []byte
	value  kv.Future[[]byte]
	accept func(value []byte) error
}

// followLink follows the link to the next element, if there is one. The link is read
// together with the layer of the element before; should that turn out to be a
// partition, the link is inside it and must be read again.
func (t *trail) followLink(ctx context.Context, tx kv.ReadTransaction) (bool, error) {
	if err := t.checkLink(); err != nil {
		return false, err
	}
	link := t.link()
	value := tx.Get(link)
	if err := t.awaitReads(ctx); err != nil {
		return false, err
	}
	if t.enterPartition(tx) {
		if err := t.checkLink(); err != nil {
			return false, err
		}
		link = t.link()
		value = tx.Get(link)
	}
	prefix, err := value.Get(ctx)
	if err != nil || prefix == nil {
		return false, err
	}
	t.facts = append(t.facts, fact{link, prefix})
	return true, t.addElement(tx, link, prefix)
}

// link is the key of the link to the next element.
func (t *trail) link() []byte { return t.parent.linkKey(t.path[len(t.found)]) }

// checkLink refuses a next element with a key that is too long.
func (t *trail) checkLink() error {
	if n := len(t.link()); n > kv.MaxKeySize {
		return pathError(t.path, len(t.found), tooLong("parent", n))
	}
	return nil
}

// addElement adds the element that a link leads to and starts to read its layer.
func (t *trail) addElement(tx kv.ReadTransaction, link, prefix []byte) error {
	if reason := t.tree.checkPrefix(prefix); reason != "" {
		return &CorruptError{link, prefix, "not a directory's prefix: " + reason}
	}
	t.found = append(t.found, element{tree: t.tree, link: link, prefix: prefix})
	t.parent = t.tree.node(prefix)
	i := len(t.found) - 1
	t.startRead(tx, t.parent.layerKey(), func(layer []byte) error {
		t.found[i].layer = string(layer)
		return nil
	})
	return nil
}

// enterPartition enters the last element if it is a partition not entered yet.
func (t *trail) enterPartition(tx kv.ReadTransaction) bool {
	last := t.last()
	if last == nil || last.layer != Partition || last.tree != t.tree {
		return false
	}
	t.enterTree(tx, inPartition(last.prefix, slices.Clone(t.path[:len(t.found)])))
	return true
}

// enterTree makes tree the one where the next element is, and starts to read its
// version.
func (t *trail) enterTree(tx kv.ReadTransaction, tr *tree) {
	t.tree, t.parent = tr, tr.root
	t.trees = append(t.trees, versionedTree{tree: tr})
	i := len(t.trees) - 1
	key := tr.versionKey()
	t.startRead(tx, key, func(value []byte) error {
		if value == nil {
			return nil
		}
		v, err := decodeVersion(key, value)
		if err != nil {
			return err
		}
		t.trees[i].version = &v
		if v.major > ownVersion.major {
			return versionError(v, "it cannot be read")
		}
		return nil
	})
}

func (t *trail) startRead(tx kv.ReadTransaction, key []byte, accept func([]byte) error) {
	t.pending = append(t.pending, pendingRead{key, tx.Get(key), accept})
}

// awaitReads waits for all reads that were started.
func (t *trail) awaitReads(ctx context.Context) error {
	for _, r := range t.pending {
		value, err := r.value.Get(ctx)
		if err != nil {
			return err
		}
		t.facts = append(t.facts, fact{r.key, value})
		if err := r.accept(value); err != nil {
			return err
		}
	}
	t.pending = t.pending[:0]
	return nil
}

// isComplete reports whether the whole path exists.
func (t *trail) isComplete() bool { return len(t.found) == len(t.path) }

// last is the last element that exists, nil for the root.
func (t *trail) last() *element {
	if len(t.found) == 0 {
		return nil
	}
	return &t.found[len(t.found)-1]
}

// home is the tree that holds the link to the path's last element, or would.
func (t *trail) home() *tree {
	if t.isComplete() && t.last() != nil {
		return t.last().tree
	}
	return t.tree
}

// checkLayers compares the layers of the elements that exist with those expected.
func (t *trail) checkLayers(want expectations) error {
	for _, x := range want {
		if x.element < len(t.found) && x.layer != t.found[x.element].layer {
			return layerError(t.path[:x.element+1], x.layer, t.found[x.element].layer)
		}
	}
	return nil
}

// makeWritable refuses trees of a newer format than this package writes, and
// gives those that have none its version.
func (t *trail) makeWritable(tx kv.Transaction) error {
	for _, v := range t.trees {
		switch {
		case v.version == nil:
			tx.Set(v.versionKey(), ownVersion.encode())
		case v.version.minor > ownVersion.minor:
			return versionError(*v.version, "it can be read but not changed")
		}
	}
	return nil
}

// directory returns the handle of a complete trail that is not the root's.
func (t *trail) directory() *Directory {
	d := &Directory{root: t.layer, tree: t.last().tree, path: slices.Clone(t.path), prefix: slices.Clone(t.last().prefix)}
	for _, e := range t.found {
		d.layers = append(d.layers, e.layer)
		d.links = append(d.links, e.link)
		d.nodes = append(d.nodes, e.tree.node(e.prefix))
	}
	return d
}

// checkOpened returns what is wrong with a trail that should lead to a directory.
func (t *trail) checkOpened(want expectations) error {
	if err := t.checkLayers(want); err != nil {
		return err
	}
	if !t.isComplete() {
		return ErrNotFound
	}
	return nil
}

// removeLast removes the last element of a complete trail. The subdirectories go
// level by level, each level being one round of reads; partitions need none,
// since all that is theirs lies in their prefix.
func (t *trail) removeLast(ctx context.Context, tx kv.Transaction) error {
	tree, level := t.home(), [][]byte{t.last().prefix}
	for len(level) > 0 {
		below, err := tree.listSubdirectories(ctx, tx, level)
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

// Partition is the layer of a partition: a directory with subdirectories that have
// their metadata and their prefixes inside its own prefix. Removing it is one
// range clear, however many directories it holds; its directories cannot be
// moved out.
const Partition = "partition"

// Expect says which layer an element of a path has: an existing directory must have
// it ([ErrLayer] otherwise), a new one gets it. Without an Expect an existing
// directory may have any layer, and a new one gets none.
type Expect struct {
	element int // lastElement or an index
	layer   string
}

const lastElement = -1

// As expects the layer of the directory itself, the path's last element. The
// empty layer is a layer too: directories created without one.
func As(layer string) Expect { return Expect{lastElement, layer} }

// ElementAs expects the layer of the path's element with that index, counted
// from 0 in the path given to the call. So this opens or creates the orders
// of a tenant that has a partition of its own:
//
//	directory.Root().CreateOrOpen(ctx, db, []string{"tenants", id, "orders"}, directory.ElementAs(1, directory.Partition))
func ElementAs(index int, layer string) Expect { return Expect{index, layer} }

// expectations are what is expected of a path, with indices into it.
type expectations []Expect

// of returns the layer expected of an element, if any. The last word counts.
func (x expectations) of(index int) (layer string, expected bool) {
	for i := len(x) - 1; i >= 0; i-- {
		if x[i].element == index {
			return x[i].layer, true
		}
	}
	return "", false
}

// expectationsOf resolves what was said of a path with n elements, of which
// the first shift were not in the path given to the call.
func expectationsOf(expects []Expect, n, shift int) (expectations, error) {
	if len(expects) == 0 {
		return nil, nil
	}
	resolved := make(expectations, len(expects))
	for i, e := range expects {
		at := e.element + shift
		if e.element == lastElement {
			at = n - 1
		}
		if at < shift && e.element != lastElement || at >= n {
			return nil, fmt.Errorf("%w: a layer is expected of element %d, but the path has %d", ErrPath, e.element, n-shift)
		}
		if len(e.layer) > kv.MaxValueSize {
			return nil, fmt.Errorf("%w: a layer of %d bytes; at most %d are possible", ErrPath, len(e.layer), kv.MaxValueSize)
		}
		resolved[i] = Expect{at, e.layer}
	}
	return resolved, nil
}
