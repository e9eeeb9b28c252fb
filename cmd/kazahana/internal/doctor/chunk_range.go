// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// chunkRange returns the range of the chunks behind a key that ends with a tuple's element.
// A key that goes on with 0xff has another element there: "a\x00b" is 02 61 00 ff 62 00, and
// "a" is 02 61 00.
func chunkRange(head []byte) kv.KeyRange {
	return kv.KeyRange{Begin: kv.Successor(head), End: append(bytes.Clone(head), 0xff)}
}

// isChunkKey reports whether a key lies in the range of the chunks behind another one.
func isChunkKey(head, key []byte) bool {
	return len(key) > len(head) && bytes.HasPrefix(key, head) && key[len(head)] != 0xff
}
