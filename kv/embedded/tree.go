// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"sync/atomic"
	"unsafe"
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
	edit uint64        // nodes with this mark belong to this tree alone
	seen bool          // a snapshot was taken
	rank func(*V) rank // if set, nodes know what is below them

	copied int64 // bytes of nodes that were copied since takeCopied
}

// node is a leaf or an inner node. In an inner node items[i] is not above any
// key of kids[i] and above every key of kids[i-1]; its items[0] is nil.
//
// A search that compared whole keys would wait for the memory of each. So a
// node has their heads, of eight bytes, side by side: what all its keys begin
// with is left out, and heads that are equal are rare.
type node[V any] struct {
	edit  uint64
	rank        // of all below, where the tree ranks
	n     int32 // items in use
	skip  int32 // how many bytes all keys begin with that the heads leave out
	heads [fanout]uint64
	items [fanout]*item[V]
	kids  *[fanout]*node[V] // nil: a leaf
}

// item is an entry, or a bound between kids. It is immutable, except in a tree of
// which no snapshot was ever taken.
type item[V any] struct {
	key []byte
	val V
}

var lastEdit atomic.Uint64

// snapshot returns the tree as it is now.
func (t *tree[V]) snapshot() tree[V] {
	t.edit, t.seen = lastEdit.Add(1), true
	return tree[V]{root: t.root, rank: t.rank}
}

func (t *tree[V]) empty() bool { return t.root == nil }

func (n *node[V]) leaf() bool { return n.kids == nil }

// first is the position of the first key.
func (n *node[V]) first() int {
	if n.leaf() {
		return 0
	}
	return 1
}

// headOf returns the first eight bytes of b as a number that orders as they do.
func headOf(b []byte) (h uint64) {
	if len(b) >= 8 {
		_ = b[7]
		return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 |
			uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
	}
	for i, c := range b {
		h |= uint64(c) << (56 - 8*i)
	}
	return h
}

// search returns the position of the first key not below key, and whether it
// is key.
func (n *node[V]) search(key []byte) (int, bool) {
	lo, hi := n.first(), int(n.n)
	if lo == hi {
		return lo, false
	}
	rest := key
	if skip := int(n.skip); skip > 0 {
		common := n.items[lo].key[:skip]
		if len(key) < skip || string(key[:skip]) != string(common) {
			if bytes.Compare(key, common) < 0 {
				return lo, false
			}
			return hi, false
		}
		rest = key[skip:]
	}
	h := headOf(rest)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.heads[mid&(fanout-1)] < h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == int(n.n) || n.heads[lo&(fanout-1)] != h {
		return lo, false
	}
	return n.searchEqual(lo, h, key)
}

// searchEqual is search among the keys with head h, from position lo on.
func (n *node[V]) searchEqual(lo int, h uint64, key []byte) (int, bool) {
	hi := lo + 1
	for hi < int(n.n) && n.heads[hi] == h {
		hi++
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := bytes.Compare(n.items[mid].key, key); {
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
	if !found {
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
		return &n.items[i].val
	}
	return nil
}

// floor returns the last entry whose key is not above key; its value must not
// be modified.
func (t *tree[V]) floor(key []byte) (at []byte, v *V) {
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
		return n.items[i].key, &n.items[i].val
	}
	var c cursor[V]
	if !c.seekFloor(t, key) {
		return nil, nil
	}
	return c.key(), c.val()
}

// own returns n if this tree may modify it, else a copy that it may.
func (t *tree[V]) own(n *node[V]) *node[V] {
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

// takeCopied returns how many bytes of nodes edits have copied since it was called
// last. Snapshots from before keep the originals.
func (t *tree[V]) takeCopied() int64 {
	n := t.copied
	t.copied = 0
	return n
}

// prepare recomputes what search needs.
func (n *node[V]) prepare() {
	from, to := n.first(), int(n.n)
	n.skip = 0
	if to-from > 1 {
		n.skip = int32(commonPrefix(n.items[from].key, n.items[to-1].key))
	}
	for i := from; i < to; i++ {
		n.heads[i] = headOf(n.items[i].key[n.skip:])
	}
}

// commonPrefix returns how many bytes a and b both begin with.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
