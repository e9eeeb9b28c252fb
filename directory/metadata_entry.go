// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

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

// decodeNamed reads a key whose first element is a byte string: the layer of a directory,
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
