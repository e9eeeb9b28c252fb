// SPDX-License-Identifier: Apache-2.0

package btree

import "bytes"

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
// were, and the first key after the leaf, nil if there is none.
func (t *Tree[V]) RetainLeaf(from []byte, keep func(*V) bool) (seen int, next []byte) {
	var c Cursor[V]
	if c.Locate(t, from); c.depth == 0 {
		return 0, nil
	}
	at := &c.path[c.depth-1]
	i := at.i
	after := c
	after.path[after.depth-1].i = int(at.n.n) - 1
	if after.Next() {
		next = after.Key()
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
// begin or end means no bound.
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
