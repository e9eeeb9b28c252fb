// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// tree is what the directory layer knows of the directories in the root, or in a partition.
type tree struct {
	directory.Metadata
	path    []string // of the partition
	layers  []string // of the path's elements
	nodes   map[string]*node
	version bool  // the key of the format is there
	window  int64 // the newest of the allocator
	taken   map[int64]bool
	batch   *batch
}

// gaps returns the parts of a range between others.
func gaps(at kv.KeyRange, owned []kv.KeyRange) (all []kv.KeyRange) {
	slices.SortFunc(owned, func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	for _, r := range owned {
		if bytes.Compare(at.Begin, r.Begin) < 0 {
			all = append(all, kv.KeyRange{Begin: at.Begin, End: r.Begin})
		}
		if bytes.Compare(at.Begin, r.End) < 0 {
			at.Begin = r.End
		}
	}
	if bytes.Compare(at.Begin, at.End) < 0 {
		all = append(all, at)
	}
	return all
}

// longestPrefix is the length of the longest prefix that the allocator makes.
const longestPrefix = 9

// readAll reads the metadata, at one version.
func (t *tree) readAll(ctx context.Context) error {
	for pair, err := range t.batch.pairs(ctx, t.Keys(), kv.RangeOptions{Mode: kv.ModeWantAll}) {
		if err != nil {
			return err
		}
		t.batch.keys++
		t.add(kv.KeyValue{Key: bytes.Clone(pair.Key), Value: bytes.Clone(pair.Value)})
	}
	return nil
}

// add adds a pair of the metadata.
func (t *tree) add(pair kv.KeyValue) {
	e, err := t.Decode(pair)
	if err != nil {
		t.addError(e.Kind, pair, err)
		t.version = t.version || bytes.Equal(pair.Key, t.VersionKey())
		return
	}
	switch e.Kind {
	case directory.VersionEntry:
		t.version = true
	case directory.LayerEntry:
		n := t.node(e.Node)
		n.exists, n.layer = true, e.Layer
	case directory.LinkEntry:
		n := t.node(e.Prefix)
		n.links = append(n.links, link{pair.Key, string(e.Node), e.Name})
	case directory.WindowEntry:
		t.window = max(t.window, e.Number)
	case directory.AllocationEntry:
		t.taken[e.Number] = true
	}
}

// addError reports a pair that cannot be decoded, by what its key is.
func (t *tree) addError(kind directory.EntryKind, pair kv.KeyValue, err error) {
	var corrupt *directory.CorruptError
	reason := err.Error()
	if errors.As(err, &corrupt) {
		reason = corrupt.Reason
	}
	code := "directory/bad-metadata"
	switch {
	case errors.Is(err, directory.ErrVersion), bytes.Equal(pair.Key, t.VersionKey()):
		code = "directory/version"
	case kind == directory.LinkEntry:
		code = "directory/bad-link"
	case kind == directory.WindowEntry, kind == directory.AllocationEntry:
		code = "directory/bad-allocation"
	}
	t.report(code, t.path, pair.Key, "%s", reason)
}

func (t *tree) report(code string, path []string, key []byte, format string, args ...any) {
	t.batch.report(newFinding(code, path, t.Root(), key, format, args...))
}

func (t *tree) node(prefix []byte) *node {
	n := t.nodes[string(prefix)]
	if n == nil {
		n = &node{prefix: string(prefix)}
		t.nodes[string(prefix)] = n
	}
	return n
}

// sorted returns the directories in the order of their prefixes.
func (t *tree) sorted() []*node {
	all := make([]*node, 0, len(t.nodes))
	for _, n := range t.nodes {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *node) int { return bytes.Compare([]byte(a.prefix), []byte(b.prefix)) })
	return all
}

// ownerOf returns the prefix of the directory that owns a key; nil if there is none, or none
// any more.
func (t *tree) ownerOf(ctx context.Context, b *batch, key []byte) ([]byte, error) {
	for end := len(t.Content()) + 1; end <= len(key) && end <= len(t.Content())+longestPrefix; end++ {
		value, err := b.value(ctx, t.LayerKey(key[:end]))
		if err != nil || value != nil {
			return key[:end], err
		}
	}
	return nil, nil
}

// link leads from a directory to one below it.
type link struct {
	key    []byte
	parent string // prefix
	name   string
}

// node is a directory.
type node struct {
	prefix  string
	layer   string
	exists  bool   // it has a layer
	links   []link // that lead to it, in the order of their keys
	reached bool   // from the root, by links
	path    []string
	layers  []string
}

// nameIn returns the name under which a directory links to this one.
func (n *node) nameIn(parent *node) string {
	i := slices.IndexFunc(n.links, func(l link) bool { return l.parent == parent.prefix })
	return n.links[i].name
}

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
				t.report("directory/missing-layer", path, l.key, "the name %q leads to the prefix %x, but the key of its layer, 0x%x, is missing", l.name, n.prefix, t.LayerKey([]byte(n.prefix)))
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
