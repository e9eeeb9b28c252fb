// SPDX-License-Identifier: Apache-2.0

// Package btree is an ordered map from byte keys to values of one type: a B+tree
// in memory with nodes that are copied on write.
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

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

// fanout is the most entries a node holds. Larger nodes make lookups
// shallower; smaller ones make the copy that a commit takes cheaper.
const fanout = 32

// Tree is an ordered map from byte keys to V: a B+tree with nodes that are copied
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

// Floor returns the last entry with a key not above key; its value must not
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

// Rank is what nodes know of the entries below them.
type Rank struct {
	Top  int64 // the highest
	Live bool  // of any
}

// with returns the rank of what has r and of what has o.
func (r Rank) with(o Rank) Rank { return Rank{max(r.Top, o.Top), r.Live || o.Live} }

// exceeds reports whether r is more than o in anything.
func (r Rank) exceeds(o Rank) bool { return r.Top > o.Top || r.Live && !o.Live }

// liveAt returns the first position of n with anything live, going from one in
// steps; -1 if there is none.
func (t *Tree[V]) liveAt(n *node[V], from, step int) int {
	if !n.Rank.Live {
		return -1
	}
	for i := from; i >= 0 && i < int(n.n); i += step {
		if t.rankAt(n, i).Live {
			return i
		}
	}
	return -1
}

// Ranked returns an empty tree with nodes that know the rank of what is below them.
func Ranked[V any](rankOf func(*V) Rank) Tree[V] { return Tree[V]{rank: rankOf} }

// measure recomputes the rank of n.
func (t *Tree[V]) measure(n *node[V]) {
	if t.rank == nil {
		return
	}
	n.Rank = Rank{}
	for i := range int(n.n) {
		n.Rank = n.Rank.with(t.rankAt(n, i))
	}
}

// rankAt returns the rank of position i of n.
func (t *Tree[V]) rankAt(n *node[V], i int) Rank {
	if n.leaf() {
		return t.rank(&n.items[i].Value)
	}
	return n.kids[i].Rank
}

// Top returns the highest rank of all entries, 0 if there are none.
func (t *Tree[V]) Top() int64 {
	if t.root == nil {
		return 0
	}
	return t.root.Rank.Top
}

// TopWithin returns the highest rank of the entries in [begin, end).
func (t *Tree[V]) TopWithin(begin, end []byte) int64 {
	if t.root == nil {
		return 0
	}
	return t.topBelow(t.root, begin, end)
}

// topBelow is topWithin below n, where a nil begin or end means no bound.
func (t *Tree[V]) topBelow(n *node[V], begin, end []byte) int64 {
	if begin == nil && end == nil {
		return n.Top
	}
	first, last := n.between(begin, end)
	var top int64
	if n.leaf() {
		for i := first; i < last; i++ {
			top = max(top, t.rank(&n.items[i].Value).Top)
		}
		return top
	}
	if first == last {
		return t.topBelow(n.kids[first], begin, end)
	}
	for i := first + 1; i < last; i++ {
		top = max(top, n.kids[i].Top)
	}
	return max(top, t.topBelow(n.kids[first], begin, nil), t.topBelow(n.kids[last], nil, end))
}

// node is a leaf or an inner node. In an inner node items[i] is not above any
// key of kids[i] and above every key of kids[i-1]; its items[0] is nil.
//
// A search that compared whole keys would wait for the memory of each. So a
// node has their heads, of eight bytes, side by side: what all its keys begin
// with is left out, and heads that are equal are rare.
type node[V any] struct {
	edit  uint64
	Rank        // of all below, where the tree ranks
	n     int32 // items in use
	skip  int32 // how many bytes all keys begin with that the heads leave out
	heads [fanout]uint64
	items [fanout]*Item[V]
	kids  *[fanout]*node[V] // nil: a leaf
}

// between returns the positions of the entries in [begin, end) of a leaf, the
// last one excluded, or of the kids that they lie in, the last one included. A
// nil begin or end means no bound.
func (n *node[V]) between(begin, end []byte) (first, last int) {
	if n.leaf() {
		last = int(n.n)
		if begin != nil {
			first, _ = n.search(begin)
		}
		if end != nil {
			last, _ = n.search(end)
		}
		return first, last
	}
	last = int(n.n) - 1
	if begin != nil {
		first = n.child(begin)
	}
	if end != nil {
		last = n.child(end)
	}
	return first, last
}

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
		common := n.items[lo].Key[:skip]
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
		switch c := bytes.Compare(n.items[mid].Key, key); {
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

// prepare recomputes what search needs.
func (n *node[V]) prepare() {
	from, to := n.first(), int(n.n)
	n.skip = 0
	if to-from > 1 {
		n.skip = int32(commonPrefix(n.items[from].Key, n.items[to-1].Key))
	}
	for i := from; i < to; i++ {
		n.heads[i] = headOf(n.items[i].Key[n.skip:])
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

// insert makes room at position i. There is some.
func (n *node[V]) insert(i int, it *Item[V], kid *node[V]) {
	end := int(n.n)
	copy(n.heads[i+1:end+1], n.heads[i:end])
	copy(n.items[i+1:end+1], n.items[i:end])
	n.items[i] = it
	if kid != nil {
		copy(n.kids[i+1:end+1], n.kids[i:end])
		n.kids[i] = kid
	}
	n.n++
	other := n.first()
	if other == i {
		other++
	}
	if other >= int(n.n) || n.skip > 0 && commonPrefix(it.Key, n.items[other].Key[:n.skip]) < int(n.skip) {
		n.prepare()
		return
	}
	n.heads[i] = headOf(it.Key[n.skip:])
}

// cut drops the positions from (included) to to (excluded).
func (n *node[V]) cut(from, to int) {
	if from >= to {
		return
	}
	end := int(n.n)
	left := end - (to - from)
	copy(n.heads[from:], n.heads[to:end])
	copy(n.items[from:], n.items[to:end])
	clear(n.items[left:end])
	if !n.leaf() {
		copy(n.kids[from:], n.kids[to:end])
		clear(n.kids[left:end])
		n.items[0] = nil
	}
	n.n = int32(left)
}
