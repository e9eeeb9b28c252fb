// SPDX-License-Identifier: Apache-2.0

package embedded

// rank is what nodes know of the entries below them.
type rank struct {
	top  int64 // the highest
	live bool  // of any
}

// with returns the rank of what has r and of what has o.
func (r rank) with(o rank) rank { return rank{max(r.top, o.top), r.live || o.live} }

// exceeds reports whether r is more than o in anything.
func (r rank) exceeds(o rank) bool { return r.top > o.top || r.live && !o.live }

// rankedTree returns an empty tree whose nodes know the rank of what is below them.
func rankedTree[V any](rankOf func(*V) rank) tree[V] { return tree[V]{rank: rankOf} }

// measure recomputes the rank of n.
func (t *tree[V]) measure(n *node[V]) {
	if t.rank == nil {
		return
	}
	n.rank = rank{}
	for i := range int(n.n) {
		n.rank = n.rank.with(t.rankAt(n, i))
	}
}

// rankAt returns the rank of position i of n.
func (t *tree[V]) rankAt(n *node[V], i int) rank {
	if n.leaf() {
		return t.rank(&n.items[i].val)
	}
	return n.kids[i].rank
}

// raise brings the ranks on the path up to date with v, which was stored.
func (c *cursor[V]) raise(t *tree[V], replaced bool, v *V) {
	if t.rank == nil {
		return
	}
	r := t.rank(v)
	for d := c.depth - 1; d >= 0; d-- {
		n := c.path[d].n
		before := n.rank
		if replaced && before.exceeds(r) {
			t.measure(n)
		} else {
			n.rank = before.with(r)
		}
		if n.rank == before {
			return // and so are those above
		}
		r = n.rank
	}
	t.root.rank = t.root.rank.with(r)
}

// lift adds the rank of a kid to the path's node at depth d, which has just got
// it, and to those above: where they were split for it, they were measured
// without it.
func (c *cursor[V]) lift(t *tree[V], d int, r rank) {
	for ; d >= 0; d-- {
		c.path[d].n.rank = c.path[d].n.rank.with(r)
	}
	t.root.rank = t.root.rank.with(r)
}

// top returns the highest rank of all entries, 0 if there are none.
func (t *tree[V]) top() int64 {
	if t.root == nil {
		return 0
	}
	return t.root.rank.top
}

// topWithin returns the highest rank of the entries in [begin, end).
func (t *tree[V]) topWithin(begin, end []byte) int64 {
	if t.root == nil {
		return 0
	}
	return t.topBelow(t.root, begin, end)
}

// topBelow is topWithin below n, where a nil begin or end is no bound.
func (t *tree[V]) topBelow(n *node[V], begin, end []byte) int64 {
	if begin == nil && end == nil {
		return n.top
	}
	first, last := n.between(begin, end)
	var top int64
	if n.leaf() {
		for i := first; i < last; i++ {
			top = max(top, t.rank(&n.items[i].val).top)
		}
		return top
	}
	if first == last {
		return t.topBelow(n.kids[first], begin, end)
	}
	for i := first + 1; i < last; i++ {
		top = max(top, n.kids[i].top)
	}
	return max(top, t.topBelow(n.kids[first], begin, nil), t.topBelow(n.kids[last], nil, end))
}

// between returns the positions of the entries in [begin, end) of a leaf, the
// last one excluded, or of the kids that they lie in, the last one included. A
// nil begin or end is no bound.
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
