// SPDX-License-Identifier: Apache-2.0

// Package btree is an ordered map from byte keys to values of one type: a B+tree
// in memory whose nodes are copied on write.
//
// It promises to the packages above:
//
//   - [Tree.Snapshot] takes constant time. The snapshot never changes, and any
//     number of goroutines may read it, with no lock, while one goroutine edits
//     the tree.
//   - Reads and edits take logarithmic time; so does [Tree.RemoveRange], however
//     many entries it removes.
//   - A tree of [Ranked] also knows the highest rank within any range
//     ([Tree.TopWithin]), and its cursors find the next live entry
//     ([Cursor.NextLive]), in logarithmic time.
//   - Keys and values are kept as they are, and never modified.
//
// It imports nothing of the module.
package btree
