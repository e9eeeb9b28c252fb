// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Metadata tells where a layer, or a partition, keeps what it knows of its directories,
// and reads it key by key. It is for tools that examine a database: everything else
// uses the verbs of [Layer]. It is immutable, and reads nothing itself.
type Metadata struct{ tree *tree }

// Metadata returns the metadata of the directories that are in no partition.
func (l *Layer) Metadata() Metadata { return Metadata{l.tree} }

// Partition returns the metadata of the directories in the partition that has the prefix,
// at a path.
func (m Metadata) Partition(prefix []byte, path []string) Metadata {
	return Metadata{inPartition(prefix, slices.Clone(path))}
}

// Path returns the path of the partition; it is empty for the outermost directories.
func (m Metadata) Path() []string { return slices.Clone(m.tree.path) }

// Keys returns the range of all keys of the metadata.
func (m Metadata) Keys() kv.KeyRange { return kv.PrefixRange(m.tree.nodes.Bytes()) }

// Content returns the prefix with which the prefixes of the directories begin.
func (m Metadata) Content() []byte { return m.tree.content.Bytes() }

// Root returns the prefix that stands for the parent of the outermost directories.
func (m Metadata) Root() []byte { return m.tree.nodes.Bytes() }

// VersionKey returns the key of the format's version.
func (m Metadata) VersionKey() []byte { return m.tree.versionKey() }

// LayerKey returns the key of the layer of the directory with that prefix. The key exists
// as long as the directory does.
func (m Metadata) LayerKey(prefix []byte) []byte { return m.tree.node(prefix).layerKey() }

// Annotation returns the subspace of the keys that owner keeps about the directory with
// that prefix; see [Directory.Annotations].
func (m Metadata) Annotation(prefix []byte, owner string) tuple.Subspace {
	return m.tree.node(prefix).Sub(annotation, owner)
}

// Windows returns the range of the counters of the allocator's windows. The last one is
// that of the window from which it takes integers.
func (m Metadata) Windows() kv.KeyRange { return rangeOf(m.tree.allocator.counters) }

// AllocationKey returns the key by which the allocator knows that it gave an integer out.
func (m Metadata) AllocationKey(n int64) []byte { return m.tree.allocator.recent.Sub(n).Bytes() }

// CheckPrefix returns an error if the prefix can be no directory's.
func (m Metadata) CheckPrefix(prefix []byte) error {
	if reason := m.tree.checkPrefix(prefix); reason != "" {
		return prefixError(prefix, false, reason)
	}
	return nil
}

// Allocated returns the integer of which the allocator makes a prefix; false if it
// never makes that prefix.
func (m Metadata) Allocated(prefix []byte) (n int64, ok bool) {
	t, err := m.tree.content.Unpack(prefix)
	if err != nil || len(t) != 1 {
		return 0, false
	}
	n, ok = t[0].(int64)
	return n, ok && n >= 0 && bytes.Equal(prefix, m.tree.content.Sub(n).Bytes())
}
