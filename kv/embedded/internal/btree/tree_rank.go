// SPDX-License-Identifier: Apache-2.0

package btree

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
