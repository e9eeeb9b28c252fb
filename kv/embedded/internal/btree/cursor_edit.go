// SPDX-License-Identifier: Apache-2.0

package btree

// raise brings the ranks on the path up to date with v, which was stored.
func (c *Cursor[V]) raise(t *Tree[V], replaced bool, v *V) {
	if t.rank == nil {
		return
	}
	r := t.rank(v)
	for d := c.depth - 1; d >= 0; d-- {
		n := c.path[d].n
		before := n.Rank
		if replaced && before.exceeds(r) {
			t.measure(n)
		} else {
			n.Rank = before.with(r)
		}
		if n.Rank == before {
			return // and so are those above
		}
		r = n.Rank
	}
	t.root.Rank = t.root.Rank.with(r)
}

// lift adds the rank of a kid to the path's node at depth d, which has just got
// it, and to those above: where they were split for it, they were measured
// without it.
func (c *Cursor[V]) lift(t *Tree[V], d int, r Rank) {
	for ; d >= 0; d-- {
		c.path[d].n.Rank = c.path[d].n.Rank.with(r)
	}
	t.root.Rank = t.root.Rank.with(r)
}

// Locate moves to where key is, or would be inserted, and reports whether it is
// there. The cursor is then good for Floor and Put only.
func (c *Cursor[V]) Locate(t *Tree[V], key []byte) (found bool) {
	if !c.descend(t, key) {
		return false
	}
	at := &c.path[c.depth-1]
	at.i, found = at.n.search(key)
	return found
}

// Floor returns the last value whose key is not above what was located, nil
// if there is none.
func (c *Cursor[V]) Floor(found bool) *V {
	if c.depth == 0 {
		return nil
	}
	at := &c.path[c.depth-1]
	if found {
		return &at.n.items[at.i].Value
	}
	if at.i > 0 {
		return &at.n.items[at.i-1].Value
	}
	before := *c
	if !before.Prev() {
		return nil
	}
	return before.Value()
}

// Put stores v under the key that was located.
func (c *Cursor[V]) Put(t *Tree[V], key []byte, found bool, v V) {
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
		at.n.items[at.i].Value = v
		c.raise(t, true, &v)
		return
	}
	it := &Item[V]{Key: key, Value: v}
	if found {
		at.n.items[at.i] = it // with its key: the old one may hold other memory alive
	} else {
		c.insert(t, c.depth-1, at.i, it, nil)
	}
	c.raise(t, found, &it.Value)
}

// own makes the nodes on the path the tree's own.
func (c *Cursor[V]) own(t *Tree[V]) {
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
func (c *Cursor[V]) insert(t *Tree[V], d, i int, it *Item[V], kid *node[V]) {
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
		c.lift(t, d, kid.Rank)
	}
}

// drop removes positions of the path's leaf.
func (c *Cursor[V]) drop(t *Tree[V], refused *[fanout]bool) {
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
