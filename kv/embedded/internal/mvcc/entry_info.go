// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"iter"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

// EntryInfo is what a window says of a key, and of the gap behind it up to the next
// entry.
type EntryInfo struct {
	Key        []byte
	Point      Knowledge
	Value      []byte // where Point is Present
	Version    int64  // of the last write to the key; 0 where the window has none
	Gap        Knowledge
	GapVersion int64 // of the range clear that emptied the gap
}

func entryInfos(t btree.Tree[entry]) iter.Seq[EntryInfo] {
	return func(yield func(EntryInfo) bool) {
		var c btree.Cursor[entry]
		for ok := c.Seek(&t, nil); ok; ok = c.Next() {
			e := c.Value()
			if !yield(EntryInfo{c.Key(), e.point, e.value, e.version, e.gap, e.gapAt}) {
				return
			}
		}
	}
}
