// SPDX-License-Identifier: Apache-2.0

package directory

import (
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

// decodeName returns the subdirectory's name in a link's key: what follows the
// node's key is (0, name).
func decodeName(n tuple.Subspace, key []byte) (string, error) {
	rest, err := n.Strip(key)
	if err != nil {
		return "", &CorruptError{key, nil, err.Error()}
	}
	kind, rest, err := tuple.ReadInt(rest)
	if err != nil || kind != subdirs {
		return "", &CorruptError{key, nil, "not the key of a subdirectory"}
	}
	name, rest, err := tuple.ReadString(rest)
	if err != nil || len(rest) != 0 {
		return "", &CorruptError{key, nil, "not the key of a subdirectory: a single string should end it"}
	}
	return name, nil
}

// decodeNodePrefix returns the prefix of the node that a metadata key is of.
func decodeNodePrefix(nodes tuple.Subspace, key []byte) ([]byte, error) {
	rest, err := nodes.Strip(key)
	if err == nil {
		var prefix []byte
		if prefix, _, err = tuple.ReadBytes(rest); err == nil {
			return prefix, nil
		}
	}
	return nil, &CorruptError{key, nil, "not the key of a node: " + err.Error()}
}

// decodeWindow returns the start of the allocator window that a counter's key
// is of.
func decodeWindow(counters tuple.Subspace, key []byte) (int64, error) {
	rest, err := counters.Strip(key)
	if err != nil {
		return 0, &CorruptError{key, nil, err.Error()}
	}
	start, rest, err := tuple.ReadInt(rest)
	if err != nil || len(rest) != 0 || start < 0 || start > maxWindowStart {
		return 0, &CorruptError{key, nil, "not the key of an allocator's window"}
	}
	return start, nil
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
