// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"sync/atomic"
)

// fanout is the most entries a node holds. Larger nodes make lookups
// shallower; smaller ones make the copy that a commit takes cheaper.
const fanout = 32

// tree is an ordered map from byte keys to V: a B+tree whose nodes are copied
// on write. [tree.snapshot] takes an immutable copy in constant time; edits
// that follow copy the nodes on their way once and then change them in place.
//
// Balance is relaxed: all leaves have one depth, but a node is only merged with
// its neighbour once it is nearly empty. That makes removing a range cost the
// depth of the tree, whatever the range holds.
//
// The zero tree is empty. One goroutine may edit a tree; snapshots may be read
// by any number.
type tree[V any] struct {
	root *node[V]
	edit uint64         // nodes with this mark belong to this tree alone
	rank func(*V) int64 // if set, nodes know the highest rank below them
}

// node is a leaf (vals) or an inner node (kids). In an inner node keys[i] is
// not above any key of kids[i] and above every key of kids[i-1]; keys[0] is
// not looked at.
type node[V any] struct {
	edit uint64
	top  int64 // highest rank, where the tree ranks
	keys [][]byte
	vals []V
	kids []*node[V]
}

var lastEdit atomic.Uint64

// snapshot returns the tree as it is now.
func (t *tree[V]) snapshot() tree[V] {
	t.edit = lastEdit.Add(1)
	return tree[V]{root: t.root, rank: t.rank}
}

func (t *tree[V]) empty() bool { return t.root == nil }

func (n *node[V]) leaf() bool { return n.kids == nil }

// search returns the position of the first key not below key, and whether it
// is key.
func (n *node[V]) search(key []byte) (int, bool) {
	lo, hi := 0, len(n.keys)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := bytes.Compare(n.keys[mid], key); {
		case c < 0:
			lo = mid + 1
		case c > 0:
			hi = mid
		default:
			return mid, true
		}
	}
	return lo, false
}

// child returns the position of the kid that key belongs to.
func (n *node[V]) child(key []byte) int {
	i, found := n.search(key)
	if !found && i > 0 {
		i--
	}
	return i
}

// get returns the value of key, or nil. The value must not be modified.
func (t *tree[V]) get(key []byte) *V {
	n := t.root
	if n == nil {
		return nil
	}
	for !n.leaf() {
		n = n.kids[n.child(key)]
	}
	if i, found := n.search(key); found {
		return &n.vals[i]
	}
	return nil
}

// own returns n if this tree may modify it, else a copy that it may.
func (t *tree[V]) own(n *node[V]) *node[V] {
	if t.edit == 0 {
		t.edit = lastEdit.Add(1)
	}
	if n.edit == t.edit {
		return n
	}
	c := &node[V]{edit: t.edit, top: n.top}
	c.keys = append(make([][]byte, 0, len(n.keys)+1), n.keys...)
	if n.leaf() {
		c.vals = append(make([]V, 0, len(n.vals)+1), n.vals...)
	} else {
		c.kids = append(make([]*node[V], 0, len(n.kids)+1), n.kids...)
	}
	return c
}

// measure recomputes the highest rank of n.
func (t *tree[V]) measure(n *node[V]) {
	if t.rank == nil {
		return
	}
	n.top = 0
	for i := range n.vals {
		n.top = max(n.top, t.rank(&n.vals[i]))
	}
	for _, kid := range n.kids {
		n.top = max(n.top, kid.top)
	}
}
