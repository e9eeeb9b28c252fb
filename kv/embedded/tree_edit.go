// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"slices"
)

// set stores v under key. The tree keeps key.
func (t *tree[V]) set(key []byte, v V) {
	if t.root == nil {
		t.root = t.own(&node[V]{})
	} else {
		t.root = t.own(t.root)
	}
	right := t.insert(t.root, key, v)
	if right == nil {
		return
	}
	t.root = &node[V]{
		edit: t.edit,
		keys: [][]byte{nil, right.keys[0]},
		kids: []*node[V]{t.root, right},
	}
	t.measure(t.root)
}

// insert stores v below n, which the tree owns, and returns the right half of
// n if n had to be split.
func (t *tree[V]) insert(n *node[V], key []byte, v V) *node[V] {
	if n.leaf() {
		i, found := n.search(key)
		if found {
			n.keys[i], n.vals[i] = key, v // the old key may hold other memory alive
		} else {
			n.keys = slices.Insert(n.keys, i, key)
			n.vals = slices.Insert(n.vals, i, v)
		}
	} else {
		i := n.child(key)
		kid := t.own(n.kids[i])
		n.kids[i] = kid
		if right := t.insert(kid, key, v); right != nil {
			n.keys = slices.Insert(n.keys, i+1, right.keys[0])
			n.kids = slices.Insert(n.kids, i+1, right)
		}
	}
	var right *node[V]
	if len(n.keys) > fanout {
		right = t.split(n)
	}
	t.measure(n)
	return right
}

// split moves the upper half of n into a new node. A node that was filled in
// ascending order would stay half empty; the cut favours the left side so that
// sequential keys pack well.
func (t *tree[V]) split(n *node[V]) *node[V] {
	cut := len(n.keys) * 2 / 3
	right := &node[V]{edit: t.edit}
	right.keys = append(make([][]byte, 0, fanout), n.keys[cut:]...)
	clear(n.keys[cut:])
	n.keys = n.keys[:cut]
	if n.leaf() {
		right.vals = append(make([]V, 0, fanout), n.vals[cut:]...)
		clear(n.vals[cut:])
		n.vals = n.vals[:cut]
	} else {
		right.kids = append(make([]*node[V], 0, fanout), n.kids[cut:]...)
		clear(n.kids[cut:])
		n.kids = n.kids[:cut]
	}
	t.measure(right)
	return right
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
	if n.leaf() {
		from, to := 0, len(n.keys)
		if begin != nil {
			from, _ = n.search(begin)
		}
		if end != nil {
			to, _ = n.search(end)
		}
		n.cut(from, to)
		return
	}
	first, last := 0, len(n.kids)-1
	if begin != nil {
		first = n.child(begin)
	}
	if end != nil {
		last = n.child(end)
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
	t.mend(n, min(first, len(n.kids)-1))
}

// cut drops the positions from (included) to to (excluded).
func (n *node[V]) cut(from, to int) {
	if from >= to {
		return
	}
	n.keys = slices.Delete(n.keys, from, to)
	if n.leaf() {
		n.vals = slices.Delete(n.vals, from, to)
	} else {
		n.kids = slices.Delete(n.kids, from, to)
	}
}

// mend drops kid i of n if it is empty, or joins it with a neighbour if both
// together are small.
func (t *tree[V]) mend(n *node[V], i int) {
	if i >= len(n.kids) {
		return
	}
	size := len(n.kids[i].keys)
	switch {
	case size == 0:
		n.cut(i, i+1)
	case size > fanout/4:
	case i+1 < len(n.kids) && size+len(n.kids[i+1].keys) <= fanout*3/4:
		t.join(n, i)
	case i > 0 && size+len(n.kids[i-1].keys) <= fanout*3/4:
		t.join(n, i-1)
	}
}

// join appends kid i+1 of n to kid i.
func (t *tree[V]) join(n *node[V], i int) {
	left, right := t.own(n.kids[i]), n.kids[i+1]
	n.kids[i] = left
	at := len(left.keys)
	left.keys = append(left.keys, right.keys...)
	left.vals = append(left.vals, right.vals...)
	left.kids = append(left.kids, right.kids...)
	if !left.leaf() {
		left.keys[at] = n.keys[i+1] // right's own first key is no bound
	}
	n.cut(i+1, i+2)
	t.measure(left)
}

// shrink drops levels that have become useless.
func (t *tree[V]) shrink() {
	for t.root != nil && !t.root.leaf() && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if t.root != nil && len(t.root.keys) == 0 {
		t.root = nil
	}
}
