// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Ranks returns the list of an index of the kind Rank. Its elements are what follows the
// index's prefix: the packed group, score and id.
func (ix *Index) Ranks() *rank.List {
	directory := ix.Prefix[:len(ix.Prefix)-len(ix.AppendPrefix(nil))]
	return &rank.List{Elements: ix.Prefix, Levels: appendLevels(slices.Clone(directory), ix.KeyName())}
}

// overhead is by how much the longest key that belongs to an entry is longer than the
// entry's own: that of a count has a level, and a zero byte behind it in conflict ranges.
func (ix *Index) overhead() int {
	if ix.Kind == Rank {
		return rank.LevelSize + 1
	}
	return 0
}

// appendLevels appends to a directory's prefix what the keys of a list's counts begin
// with: the packed ("L", key name).
func appendLevels(dst []byte, keyName string) []byte {
	return tuple.AppendString(tuple.AppendString(dst, "L"), keyName)
}

// ClearUnknown removes all that an index of any kind with that key name has below a
// directory's prefix, but for its violations.
func ClearUnknown(tx kv.Transaction, directory []byte, keyName string) {
	entries := tuple.AppendString(tuple.AppendString(slices.Clone(directory), "I"), keyName)
	tx.ClearRange(Bounds{}.Range(entries))
	tx.ClearRange(kv.PrefixRange(appendLevels(slices.Clone(directory), keyName)))
	tx.ClearRange(kv.PrefixRange(appendVersions(slices.Clone(directory), keyName)))
}
