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

import (
	"bytes"
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

// Rank is what nodes know of the entries below them.
type Rank struct {
	Top  int64 // the highest
	Live bool  // of any
}

// with returns the rank of what has r and of what has o.
func (r Rank) with(o Rank) Rank { return Rank{max(r.Top, o.Top), r.Live || o.Live} }

// exceeds reports whether r is more than o in anything.
func (r Rank) exceeds(o Rank) bool { return r.Top > o.Top || r.Live && !o.Live }

// Set stores v under key. The tree keeps key.
func (t *Tree[V]) Set(key []byte, v V) {
	var c Cursor[V]
	c.Put(t, key, c.Locate(t, key), v)
}

// grow makes a root over two nodes.
func (t *Tree[V]) grow(left *node[V], bound *Item[V], right *node[V]) {
	root := &node[V]{edit: t.edit, n: 2, kids: &[fanout]*node[V]{left, right}}
	root.items[1] = bound
	root.prepare()
	t.measure(root)
	t.root = root
}

// split moves the upper part of n into a new node, and returns that and the
// bound between the two. A node that was filled in ascending order would stay
// half empty; the cut favours the left side so that sequential keys pack well.
func (t *Tree[V]) split(n *node[V]) (right *node[V], bound *Item[V]) {
	cut := int(n.n) * 2 / 3
	right = &node[V]{edit: t.edit, n: n.n - int32(cut)}
	copy(right.items[:], n.items[cut:n.n])
	if n.leaf() {
		bound = &Item[V]{Key: right.items[0].Key}
	} else {
		right.kids = new([fanout]*node[V])
		copy(right.kids[:], n.kids[cut:n.n])
		clear(n.kids[cut:n.n])
		bound, right.items[0] = right.items[0], nil
	}
	clear(n.items[cut:n.n])
	n.n = int32(cut)
	n.prepare()
	right.prepare()
	t.measure(n)
	t.measure(right)
	return right, bound
}

// Remove deletes key and reports whether it was there.
func (t *Tree[V]) Remove(key []byte) bool {
	if t.Get(key) == nil {
		return false
	}
	t.root = t.own(t.root)
	t.removeBelow(t.root, key)
	t.shrink()
	return true
}

// RetainLeaf drops the entries of one leaf, that of key from, which keep refuses. It
// is called in order, for those not below from. retain returns how many they
// were, and the first key behind the leaf, nil if there is none.
func (t *Tree[V]) RetainLeaf(from []byte, keep func(*V) bool) (seen int, next []byte) {
	var c Cursor[V]
	if c.Locate(t, from); c.depth == 0 {
		return 0, nil
	}
	at := &c.path[c.depth-1]
	i := at.i
	behind := c
	behind.path[behind.depth-1].i = int(at.n.n) - 1
	if behind.Next() {
		next = behind.Key()
	}
	var refused [fanout]bool
	some := false
	for j := i; j < int(at.n.n); j++ {
		refused[j] = !keep(&at.n.items[j].Value)
		some = some || refused[j]
	}
	seen = int(at.n.n) - i
	if some {
		c.drop(t, &refused)
	}
	return seen, next
}

func (t *Tree[V]) removeBelow(n *node[V], key []byte) {
	if n.leaf() {
		i, _ := n.search(key)
		n.cut(i, i+1)
	} else {
		i := n.child(key)
		kid := t.own(n.kids[i])
		n.kids[i] = kid
		t.removeBelow(kid, key)
		t.mend(n, i)
	}
	t.measure(n)
}

// RemoveRange deletes the keys from begin (included) to end (excluded). A nil
// begin or end is no bound.
func (t *Tree[V]) RemoveRange(begin, end []byte) {
	if t.root == nil || begin != nil && end != nil && bytes.Compare(begin, end) >= 0 {
		return
	}
	t.root = t.own(t.root)
	t.cutBelow(t.root, begin, end)
	t.shrink()
}

func (t *Tree[V]) cutBelow(n *node[V], begin, end []byte) {
	defer t.measure(n)
	first, last := n.between(begin, end)
	if n.leaf() {
		n.cut(first, last)
		return
	}
	n.kids[first] = t.own(n.kids[first])
	if first == last {
		t.cutBelow(n.kids[first], begin, end)
		t.mend(n, first)
		return
	}
	n.kids[last] = t.own(n.kids[last])
	t.cutBelow(n.kids[first], begin, nil)
	t.cutBelow(n.kids[last], nil, end)
	n.cut(first+1, last)
	t.mend(n, first+1)
	t.mend(n, min(first, int(n.n)-1))
}

// mend drops kid i of n if it is empty, or joins it with a neighbour if both
// together are small.
func (t *Tree[V]) mend(n *node[V], i int) {
	if i >= int(n.n) {
		return
	}
	size := n.kids[i].n
	switch {
	case size == 0:
		n.cut(i, i+1)
	case size > fanout/4:
	case i+1 < int(n.n) && size+n.kids[i+1].n <= fanout*3/4:
		t.join(n, i)
	case i > 0 && size+n.kids[i-1].n <= fanout*3/4:
		t.join(n, i-1)
	}
}

// join appends kid i+1 of n to kid i.
func (t *Tree[V]) join(n *node[V], i int) {
	left, right := t.own(n.kids[i]), n.kids[i+1]
	n.kids[i] = left
	at := left.n
	copy(left.items[at:], right.items[:right.n])
	if !left.leaf() {
		copy(left.kids[at:], right.kids[:right.n])
		left.items[at] = n.items[i+1]
	}
	left.n += right.n
	left.prepare()
	n.cut(i+1, i+2)
	t.measure(left)
}

// shrink drops levels that have become useless.
func (t *Tree[V]) shrink() {
	for t.root != nil && !t.root.leaf() && t.root.n == 1 {
		t.root = t.root.kids[0]
	}
	if t.root != nil && t.root.n == 0 {
		t.root = nil
	}
}

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

// Ranked returns an empty tree whose nodes know the rank of what is below them.
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

// topBelow is topWithin below n, where a nil begin or end is no bound.
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

// built is how many entries or kids the nodes of a built tree have at most: there
// is room for some more.
const built = fanout * 3 / 4

// Build fills an empty tree with items, which are in ascending order of their
// keys, all different. It keeps them.
func (t *Tree[V]) Build(items []Item[V]) {
	if t.edit == 0 {
		t.edit = lastEdit.Add(1)
	}
	level := make([]builtNode[V], nodesFor(len(items)))
	for i := range level {
		level[i] = t.buildLeaf(items[i*len(items)/len(level) : (i+1)*len(items)/len(level)])
	}
	for len(level) > 1 {
		next := make([]builtNode[V], nodesFor(len(level)))
		for i := range next {
			next[i] = t.buildInner(level[i*len(level)/len(next) : (i+1)*len(level)/len(next)])
		}
		level = next
	}
	if len(level) == 1 {
		t.root = level[0].n
	}
}

// nodesFor returns how many nodes so many entries or kids are spread over.
func nodesFor(n int) int { return (n + built - 1) / built }

// builtNode is a node and the first key below it.
type builtNode[V any] struct {
	n     *node[V]
	first []byte
}

func (t *Tree[V]) buildLeaf(items []Item[V]) builtNode[V] {
	n := &node[V]{edit: t.edit, n: int32(len(items))}
	for i := range items {
		n.items[i] = &items[i]
	}
	n.prepare()
	t.measure(n)
	return builtNode[V]{n, items[0].Key}
}

func (t *Tree[V]) buildInner(kids []builtNode[V]) builtNode[V] {
	n := &node[V]{edit: t.edit, n: int32(len(kids)), kids: new([fanout]*node[V])}
	for i, kid := range kids {
		n.kids[i] = kid.n
		if i > 0 {
			n.items[i] = &Item[V]{Key: kid.first}
		}
	}
	n.prepare()
	t.measure(n)
	return builtNode[V]{n, kids[0].first}
}
