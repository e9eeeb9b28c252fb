// SPDX-License-Identifier: Apache-2.0

package embedded

import "bytes"

// set stores v under key. The tree keeps key.
func (t *tree[V]) set(key []byte, v V) {
	var c cursor[V]
	c.put(t, key, c.locate(t, key), v)
}

// locate moves to where key is, or would be inserted, and reports whether it is
// there. The cursor is then good for floorOf and put only.
func (c *cursor[V]) locate(t *tree[V], key []byte) (found bool) {
	if !c.descend(t, key) {
		return false
	}
	at := &c.path[c.depth-1]
	at.i, found = at.n.search(key)
	return found
}

// floorOf returns the last value whose key is not above what was located, nil
// if there is none.
func (c *cursor[V]) floorOf(found bool) *V {
	if c.depth == 0 {
		return nil
	}
	at := &c.path[c.depth-1]
	if found {
		return &at.n.items[at.i].val
	}
	if at.i > 0 {
		return &at.n.items[at.i-1].val
	}
	before := *c
	if !before.prev() {
		return nil
	}
	return before.val()
}

// put stores v under the key that was located.
func (c *cursor[V]) put(t *tree[V], key []byte, found bool, v V) {
	if t.root == nil {
		if t.edit == 0 {
			t.edit = lastEdit.Add(1)
		}
		t.root = &node[V]{edit: t.edit}
		c.push(t.root, 0)
	}
	c.own(t)
	at := &c.path[c.depth-1]
	if found && !t.seen {
		at.n.items[at.i].val = v
		c.raise(t, true, &v)
		return
	}
	it := &item[V]{key: key, val: v}
	if found {
		at.n.items[at.i] = it // with its key: the old one may hold other memory alive
	} else {
		c.insert(t, c.depth-1, at.i, it, nil)
	}
	c.raise(t, found, &it.val)
}

// own makes the nodes on the path the tree's own.
func (c *cursor[V]) own(t *tree[V]) {
	for d := range c.depth {
		n := t.own(c.path[d].n)
		c.path[d].n = n
		if d == 0 {
			t.root = n
		} else {
			up := &c.path[d-1]
			up.n.kids[up.i] = n
		}
	}
}

// insert puts an item, and the kid behind it in an inner node, at position i of
// the path's node at depth d.
func (c *cursor[V]) insert(t *tree[V], d, i int, it *item[V], kid *node[V]) {
	n := c.path[d].n
	if n.n == fanout {
		right, bound := t.split(n)
		if d == 0 {
			t.grow(n, bound, right)
		} else {
			c.insert(t, d-1, c.path[d-1].i+1, bound, right)
		}
		if i > int(n.n) {
			i -= int(n.n)
			n = right
			c.path[d].n = right
		}
	}
	n.insert(i, it, kid)
	if kid != nil {
		c.lift(t, d, kid.rank)
	}
}

// grow makes a root over two nodes.
func (t *tree[V]) grow(left *node[V], bound *item[V], right *node[V]) {
	root := &node[V]{edit: t.edit, n: 2, kids: &[fanout]*node[V]{left, right}}
	root.items[1] = bound
	root.prepare()
	t.measure(root)
	t.root = root
}

// insert makes room at position i. There is some.
func (n *node[V]) insert(i int, it *item[V], kid *node[V]) {
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
	if other >= int(n.n) || n.skip > 0 && commonPrefix(it.key, n.items[other].key[:n.skip]) < int(n.skip) {
		n.prepare()
		return
	}
	n.heads[i] = headOf(it.key[n.skip:])
}

// split moves the upper part of n into a new node, and returns that and the
// bound between the two. A node that was filled in ascending order would stay
// half empty; the cut favours the left side so that sequential keys pack well.
func (t *tree[V]) split(n *node[V]) (right *node[V], bound *item[V]) {
	cut := int(n.n) * 2 / 3
	right = &node[V]{edit: t.edit, n: n.n - int32(cut)}
	copy(right.items[:], n.items[cut:n.n])
	if n.leaf() {
		bound = &item[V]{key: right.items[0].key}
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

// remove deletes key and reports whether it was there.
func (t *tree[V]) remove(key []byte) bool {
	if t.get(key) == nil {
		return false
	}
	t.root = t.own(t.root)
	t.removeBelow(t.root, key)
	t.shrink()
	return true
}

// retain drops the entries of one leaf, that of key from, which keep refuses. It
// is called in order, for those not below from. retain returns how many they
// were, and the first key behind the leaf, nil if there is none.
func (t *tree[V]) retain(from []byte, keep func(*V) bool) (seen int, next []byte) {
	var c cursor[V]
	if c.locate(t, from); c.depth == 0 {
		return 0, nil
	}
	at := &c.path[c.depth-1]
	i := at.i
	behind := c
	behind.path[behind.depth-1].i = int(at.n.n) - 1
	if behind.next() {
		next = behind.key()
	}
	var refused [fanout]bool
	some := false
	for j := i; j < int(at.n.n); j++ {
		refused[j] = !keep(&at.n.items[j].val)
		some = some || refused[j]
	}
	seen = int(at.n.n) - i
	if some {
		c.drop(t, &refused)
	}
	return seen, next
}

// drop removes positions of the path's leaf.
func (c *cursor[V]) drop(t *tree[V], refused *[fanout]bool) {
	c.own(t)
	n := c.path[c.depth-1].n
	left := 0
	for j := range int(n.n) {
		if !refused[j] {
			n.heads[left], n.items[left] = n.heads[j], n.items[j]
			left++
		}
	}
	clear(n.items[left:n.n])
	n.n = int32(left)
	t.measure(n)
	for d := c.depth - 2; d >= 0; d-- {
		t.mend(c.path[d].n, c.path[d].i)
		t.measure(c.path[d].n)
	}
	t.shrink()
}

func (t *tree[V]) removeBelow(n *node[V], key []byte) {
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

// removeRange deletes the keys from begin (included) to end (excluded). A nil
// begin or end is no bound.
func (t *tree[V]) removeRange(begin, end []byte) {
	if t.root == nil || begin != nil && end != nil && bytes.Compare(begin, end) >= 0 {
		return
	}
	t.root = t.own(t.root)
	t.cutBelow(t.root, begin, end)
	t.shrink()
}

func (t *tree[V]) cutBelow(n *node[V], begin, end []byte) {
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

// mend drops kid i of n if it is empty, or joins it with a neighbour if both
// together are small.
func (t *tree[V]) mend(n *node[V], i int) {
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
func (t *tree[V]) join(n *node[V], i int) {
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
func (t *tree[V]) shrink() {
	for t.root != nil && !t.root.leaf() && t.root.n == 1 {
		t.root = t.root.kids[0]
	}
	if t.root != nil && t.root.n == 0 {
		t.root = nil
	}
}
