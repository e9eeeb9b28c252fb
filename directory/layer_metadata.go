// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
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

// EntryKind is what a key of the metadata says.
type EntryKind int

// The kinds of keys.
const (
	VersionEntry    EntryKind = iota // the format of the layer
	LayerEntry                       // a directory, with its layer
	LinkEntry                        // a subdirectory's name and prefix
	WindowEntry                      // how much of a window the allocator gave out
	AllocationEntry                  // an integer that the allocator gave out
	AnnotationEntry                  // what a program keeps about a directory
)

// MetadataEntry is a pair of the metadata, decoded.
type MetadataEntry struct {
	Kind   EntryKind
	Node   []byte // the prefix of the directory that the key is about; that of the root for the allocator's keys
	Layer  string // of LayerEntry
	Name   string // of LinkEntry: the subdirectory
	Prefix []byte // of LinkEntry: the subdirectory's
	Number int64  // of WindowEntry and AllocationEntry: the start of the window, or the integer
	Count  int64  // of WindowEntry: the integers that were taken
	Owner  string // of AnnotationEntry
	Rest   []byte // of AnnotationEntry: what follows the owner in the key
}

// Decode reads a pair of the metadata. A pair that the layer does not write is a
// *[CorruptError], a format of a newer version an [ErrVersion].
func (m Metadata) Decode(pair kv.KeyValue) (e MetadataEntry, err error) {
	e.Node, err = decodeNodePrefix(m.tree.nodes, pair.Key)
	if err != nil {
		return e, err
	}
	n := m.tree.node(e.Node)
	rest, err := n.Unpack(pair.Key)
	if err != nil || len(rest) == 0 {
		return e, &CorruptError{pair.Key, pair.Value, "not a key of the metadata"}
	}
	switch first := rest[0].(type) {
	case string:
		return m.decodeAnnotation(e, n, pair, rest)
	case int64:
		return m.decodeLink(e, n, pair)
	case []byte:
		return m.decodeNamed(e, n, pair, string(first))
	}
	return e, &CorruptError{pair.Key, pair.Value, "not a key of the metadata"}
}

func (m Metadata) decodeAnnotation(e MetadataEntry, n node, pair kv.KeyValue, rest tuple.Tuple) (MetadataEntry, error) {
	e.Kind = AnnotationEntry
	if rest[0] == annotation && len(rest) > 1 {
		if owner, ok := rest[1].(string); ok {
			e.Owner = owner
			e.Rest = bytes.TrimPrefix(pair.Key, n.Sub(annotation, owner).Bytes())
			return e, nil
		}
	}
	return e, &CorruptError{pair.Key, pair.Value, "not a key of the metadata"}
}

func (m Metadata) decodeLink(e MetadataEntry, n node, pair kv.KeyValue) (_ MetadataEntry, err error) {
	e.Kind, e.Prefix = LinkEntry, pair.Value
	if e.Name, err = decodeName(n, pair.Key); err != nil {
		return e, err
	}
	if reason := m.tree.checkPrefix(pair.Value); reason != "" {
		return e, &CorruptError{pair.Key, pair.Value, "not a directory's prefix: " + reason}
	}
	return e, nil
}

// decodeNamed reads a key with a byte string as its first element: the layer of a directory,
// and in the root the version and what the allocator keeps.
func (m Metadata) decodeNamed(e MetadataEntry, n node, pair kv.KeyValue, name string) (MetadataEntry, error) {
	root := bytes.Equal(e.Node, m.Root())
	switch {
	case bytes.Equal(pair.Key, n.layerKey()):
		e.Kind, e.Layer = LayerEntry, string(pair.Value)
		return e, nil
	case root && bytes.Equal(pair.Key, m.VersionKey()):
		return m.decodeFormat(e, pair)
	case root && name == "hca":
		return m.decodeAllocator(e, pair)
	}
	return e, &CorruptError{pair.Key, pair.Value, "not a key of the metadata"}
}

func (m Metadata) decodeFormat(e MetadataEntry, pair kv.KeyValue) (MetadataEntry, error) {
	e.Kind = VersionEntry
	v, err := decodeVersion(pair.Key, pair.Value)
	if err == nil && (v.major > ownVersion.major || v.major == ownVersion.major && v.minor > ownVersion.minor) {
		err = versionError(v, "it cannot be changed")
	}
	return e, err
}

func (m Metadata) decodeAllocator(e MetadataEntry, pair kv.KeyValue) (_ MetadataEntry, err error) {
	a := m.tree.allocator
	if a.counters.Contains(pair.Key) {
		e.Kind = WindowEntry
		if e.Number, err = decodeWindow(a.counters, pair.Key); err == nil {
			e.Count, err = decodeCount(pair.Key, pair.Value)
		}
		return e, err
	}
	e.Kind = AllocationEntry
	if e.Number, err = decodeWindow(a.recent, pair.Key); err != nil || len(pair.Value) > 0 {
		return e, &CorruptError{pair.Key, pair.Value, fmt.Sprintf("not an integer that the allocator gave out (%x)", a.recent.Bytes())}
	}
	return e, nil
}

// version is the format version that a layer's root node holds: three 32-bit
// little-endian numbers.
type version struct{ major, minor, micro uint32 }

// ownVersion is the format that this package reads and writes.
var ownVersion = version{1, 0, 0}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.micro) }

func (v version) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, v.major)
	b = binary.LittleEndian.AppendUint32(b, v.minor)
	return binary.LittleEndian.AppendUint32(b, v.micro)
}

func decodeVersion(key, value []byte) (version, error) {
	if len(value) != 12 {
		return version{}, &CorruptError{key, value, "a version of the directory layer has 12 bytes"}
	}
	return version{
		binary.LittleEndian.Uint32(value),
		binary.LittleEndian.Uint32(value[4:]),
		binary.LittleEndian.Uint32(value[8:]),
	}, nil
}

// The keys decoded here are compared with what the layer writes: the tuple
// layer is lenient as the official one is, and a link or counter under another
// spelling of its key could be read but never found again.

// decodeName returns the subdirectory's name in the key of one of n's links.
func decodeName(n node, key []byte) (string, error) {
	t, err := n.Unpack(key)
	if err == nil && len(t) == 2 {
		if name, ok := t[1].(string); ok && bytes.Equal(key, n.linkKey(name)) {
			return name, nil
		}
	}
	return "", &CorruptError{key, nil, "not the key of a link to a subdirectory"}
}

// decodeNodePrefix returns the prefix of the node that a metadata key is of.
func decodeNodePrefix(nodes tuple.Subspace, key []byte) ([]byte, error) {
	rest, err := nodes.Strip(key)
	if err == nil {
		var prefix []byte
		prefix, _, err = tuple.ReadBytes(rest)
		if err == nil && nodes.Sub(prefix).Contains(key) {
			return prefix, nil
		}
	}
	return nil, &CorruptError{key, nil, "not the key of a node"}
}

// decodeWindow returns the start of the allocator window that a counter's key
// is of.
func decodeWindow(counters tuple.Subspace, key []byte) (int64, error) {
	t, err := counters.Unpack(key)
	if err == nil && len(t) == 1 {
		start, ok := t[0].(int64)
		if ok && start >= 0 && start <= maxWindowStart && bytes.Equal(key, counters.Sub(start).Bytes()) {
			return start, nil
		}
	}
	return 0, &CorruptError{key, nil, "not the key of an allocator's window"}
}

// decodeCount returns a window's number of allocations; absent is 0.
func decodeCount(key, value []byte) (int64, error) {
	if value == nil {
		return 0, nil
	}
	if len(value) != 8 {
		return 0, &CorruptError{key, value, "an allocator's counter has 8 bytes"}
	}
	n := int64(binary.LittleEndian.Uint64(value))
	if n < 0 {
		return 0, &CorruptError{key, value, "an allocator's counter is not negative"}
	}
	return n, nil
}

// Containing returns the directory to which a key belongs as content, for tools that show
// keys. It is the innermost one; a partition is returned only for keys of none of its
// directories, its own metadata among them. The error is [ErrNotFound] for keys of no
// directory, such as the metadata of the layer.
//
// The database has no way from a prefix to its path: Containing reads the links of all
// directories of the layer, and those of each partition on the way.
func (l *Layer) Containing(ctx context.Context, t kv.ReadTransactor, key []byte) (*Directory, error) {
	return kv.ReadTransact(ctx, t, func(tx kv.ReadTransaction) (*Directory, error) {
		path, err := l.pathContaining(ctx, tx, key)
		if err != nil {
			return nil, err
		}
		return l.Open(ctx, tx, path)
	})
}

// pathContaining goes from a partition to the next one inside it.
func (l *Layer) pathContaining(ctx context.Context, tx kv.ReadTransaction, key []byte) (path []string, err error) {
	for t := l.tree; ; {
		prefix, err := t.prefixOf(ctx, tx, key)
		if err != nil {
			return nil, err
		}
		if prefix == nil {
			break
		}
		names, err := t.pathOf(ctx, tx, prefix)
		if err != nil {
			return nil, err
		}
		path = append(slices.Clone(path), names...)
		layer, err := tx.Get(t.node(prefix).layerKey()).Get(ctx)
		if err != nil {
			return nil, err
		}
		if string(layer) != Partition {
			return path, nil
		}
		t = inPartition(prefix, path)
	}
	if len(path) == 0 {
		return nil, fmt.Errorf("%w: the key belongs to no directory", ErrNotFound)
	}
	return path, nil
}
