// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"

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
// key as a prefix: a node whose prefix continues with a zero byte lies there.
func (n node) keys() kv.KeyRange { return rangeOf(n.Subspace) }

func rangeOf(s tuple.Subspace) kv.KeyRange {
	begin, end := s.Range()
	return kv.KeyRange{Begin: begin, End: end}
}

// longestNodeKey is the room that a node's own keys need behind its key.
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

// linksAfter is the range of the node's links behind the one with that name.
func (n node) linksAfter(name string) kv.KeyRange {
	links := n.links()
	if name != "" {
		links.Begin = kv.Successor(n.linkKey(name))
	}
	return links
}
