// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// check compares what was read.
func (t *tree) check() {
	all := t.sorted()
	if !t.version && len(all) > 0 {
		t.report("directory/version", t.path, t.VersionKey(), "there are directories, and no version of their format")
	}
	t.reach(all)
	for _, n := range all {
		t.checkLinks(n)
		t.checkNested(n)
		t.checkAllocation(n)
	}
}

// reach follows the links from the root, and gives each directory its path: that of the
// first link.
func (t *tree) reach(all []*node) {
	below := map[string][]*node{}
	for _, n := range all {
		for _, l := range n.links {
			below[l.parent] = append(below[l.parent], n)
		}
	}
	level := []*node{{prefix: string(t.Root()), path: t.path, layers: t.layers}}
	for len(level) > 0 {
		parent := level[0]
		level = level[1:]
		for _, n := range below[parent.prefix] {
			if n.reached {
				continue
			}
			n.reached = true
			n.path = append(slices.Clone(parent.path), n.nameIn(parent))
			n.layers = append(slices.Clone(parent.layers), n.layer)
			level = append(level, n)
		}
	}
}

// checkLinks checks that one link leads to a directory, and that the directory is there.
func (t *tree) checkLinks(n *node) {
	switch {
	case !n.exists:
		// checkMissing reports it.
	case len(n.links) == 0:
		t.report("directory/unlinked-node", t.path, t.LayerKey([]byte(n.prefix)), "no name leads to the directory with the prefix %x and the layer %q", n.prefix, n.layer)
	case !n.reached && !t.hasLostAncestor(n):
		t.report("directory/unlinked-node", t.path, n.links[0].key, "the directory %q with the prefix %x cannot be reached from the root: it links to itself in a circle", n.links[0].name, n.prefix)
	}
	for i := 1; i < len(n.links); i++ {
		l := n.links[i]
		t.report("directory/shared-prefix", append(slices.Clone(t.pathOf(l.parent)), l.name), l.key, "it leads to the prefix %x, as %s does", n.prefix, strings.Join(n.path, "/"))
	}
}

// checkMissing reports the directories that have a name, and no key of their layer. It asks
// whether anything is stored there.
func (t *tree) checkMissing(ctx context.Context) error {
	for _, n := range t.sorted() {
		if n.exists || len(n.links) == 0 {
			continue
		}
		used, err := t.isUsed(ctx, n)
		if err != nil {
			return err
		}
		for _, l := range n.links {
			path := append(slices.Clone(t.pathOf(l.parent)), l.name)
			if used {
				t.report("directory/missing-layer", path, l.key, "the name %q leads to the prefix %x, whose layer's key 0x%x is missing", l.name, n.prefix, t.LayerKey([]byte(n.prefix)))
			} else {
				t.report("directory/missing-node", path, l.key, "the name %q leads to the prefix %x, which no directory has", l.name, n.prefix)
			}
		}
	}
	return nil
}

// isUsed reports whether the directory has keys of its own, or metadata: subdirectories and annotations.
func (t *tree) isUsed(ctx context.Context, n *node) (bool, error) {
	metadata := tuple.NewSubspace(t.Root()).Sub([]byte(n.prefix)).Bytes()
	for _, prefix := range [][]byte{[]byte(n.prefix), metadata} {
		pair, err := t.batch.first(ctx, kv.PrefixRange(prefix))
		if err != nil || pair.Key != nil {
			return true, err
		}
	}
	return false, nil
}

// hasLostAncestor reports whether a directory above, which no name leads to, is reported.
func (t *tree) hasLostAncestor(n *node) bool {
	for range len(t.nodes) {
		if len(n.links) == 0 {
			return true
		}
		above := t.nodes[n.links[0].parent]
		if above == nil || above.reached {
			return true // a link from a directory without a node, which is reported too
		}
		n = above
	}
	return false
}

func (t *tree) pathOf(prefix string) []string {
	if n := t.nodes[prefix]; n != nil {
		return n.path
	}
	return t.path
}

// checkNested checks that the prefix does not begin with that of another directory.
func (t *tree) checkNested(n *node) {
	for end := len(n.prefix) - 1; end > len(t.Content()); end-- {
		if outer := t.nodes[n.prefix[:end]]; outer != nil {
			t.report("directory/nested-prefix", n.path, t.LayerKey([]byte(n.prefix)), "its prefix %x lies in %x, that of %s", n.prefix, outer.prefix, strings.Join(outer.path, "/"))
			return
		}
	}
}

// checkAllocation checks that the allocator does not give the prefix out once more.
func (t *tree) checkAllocation(n *node) {
	number, ok := t.Allocated([]byte(n.prefix))
	if n.exists && ok && number >= t.window && !t.taken[number] {
		t.report("directory/allocator", n.path, t.AllocationKey(number), "the allocator does not know that it gave out the prefix %x", n.prefix)
	}
}
