// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/tuple"
)

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
