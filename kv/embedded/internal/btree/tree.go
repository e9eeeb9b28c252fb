// SPDX-License-Identifier: Apache-2.0

package btree

import (
	"sync/atomic"
	"unsafe"
)

// fanout is the most entries a node holds. Larger nodes make lookups
// shallower; smaller ones make the copy that a commit takes cheaper.
const fanout = 32

// Tree is an ordered map from byte keys to V: a B+tree whose nodes are copied
// on write. [Tree.Snapshot] takes an immutable copy in constant time; edits
// that follow copy the nodes on their way once and then change them in place.
//
// Balance is relaxed: all leaves have one depth, but a node is only merged with
// its neighbour once it is nearly empty. That makes removing a range cost the
// depth of the tree, whatever the range holds.
//
// The zero tree is empty. One goroutine may edit a tree; snapshots may be read
// by any number.
type Tree[V any] struct {
	root *node[V]
	edit uint64        // nodes with this mark belong to this tree alone
	seen bool          // a snapshot was taken
	rank func(*V) Rank // if set, nodes know what is below them

	copied int64 // bytes of nodes that were copied since TakeCopied
}

// Item is an entry, or a bound between kids. It is immutable, except in a tree of
// which no snapshot was ever taken.
type Item[V any] struct {
	Key   []byte
	Value V
}

var lastEdit atomic.Uint64

// Snapshot returns the tree as it is now.
func (t *Tree[V]) Snapshot() Tree[V] {
	t.edit, t.seen = lastEdit.Add(1), true
	return Tree[V]{root: t.root, rank: t.rank}
}

func (t *Tree[V]) IsEmpty() bool { return t.root == nil }

// Get returns the value of key, or nil. The value must not be modified.
func (t *Tree[V]) Get(key []byte) *V {
	n := t.root
	if n == nil {
		return nil
	}
	for !n.leaf() {
		n = n.kids[n.child(key)]
	}
	if i, found := n.search(key); found {
		return &n.items[i].Value
	}
	return nil
}

// Floor returns the last entry whose key is not above key; its value must not
// be modified.
func (t *Tree[V]) Floor(key []byte) (at []byte, v *V) {
	n := t.root
	if n == nil {
		return nil, nil
	}
	for !n.leaf() {
		n = n.kids[n.child(key)]
	}
	i, found := n.search(key)
	if !found {
		i--
	}
	if i >= 0 {
		return n.items[i].Key, &n.items[i].Value
	}
	var c Cursor[V]
	if !c.SeekFloor(t, key) {
		return nil, nil
	}
	return c.Key(), c.Value()
}

// own returns n if this tree may modify it, else a copy that it may.
func (t *Tree[V]) own(n *node[V]) *node[V] {
	if t.edit == 0 {
		t.edit = lastEdit.Add(1)
	}
	if n.edit == t.edit {
		return n
	}
	c := new(node[V])
	*c = *n
	c.edit = t.edit
	t.copied += int64(unsafe.Sizeof(*n))
	if !n.leaf() {
		kids := *n.kids
		c.kids = &kids
		t.copied += int64(unsafe.Sizeof(kids))
	}
	return c
}

// TakeCopied returns how many bytes of nodes edits have copied since it was called
// last. Snapshots from before keep the originals.
func (t *Tree[V]) TakeCopied() int64 {
	n := t.copied
	t.copied = 0
	return n
}
