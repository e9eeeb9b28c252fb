// SPDX-License-Identifier: Apache-2.0

package embedded

// last moves to the last entry.
func (c *cursor[V]) last(t *tree[V]) bool {
	c.depth = 0
	if t.root != nil {
		c.outermost(t.root, true)
	}
	return c.valid()
}

// lastNear returns the last key of the leaf that the cursor is in.
func (c *cursor[V]) lastNear() []byte {
	n := c.path[c.depth-1].n
	return n.items[n.n-1].key
}

// firstNear returns the first key of the leaf that the cursor is in.
func (c *cursor[V]) firstNear() []byte { return c.path[c.depth-1].n.items[0].key }

// nextLive moves to the first live entry from here on, in steps that do not
// depend on how many others it passes.
func (c *cursor[V]) nextLive(t *tree[V]) bool { return c.toLive(t, 1) }

// prevLive moves to the last live entry from here down.
func (c *cursor[V]) prevLive(t *tree[V]) bool { return c.toLive(t, -1) }

// toLive moves to the next live entry in a direction, unless it is at one.
func (c *cursor[V]) toLive(t *tree[V], step int) bool {
	for here := 0; c.depth > 0; here = step {
		at := &c.path[c.depth-1]
		if i := t.liveAt(at.n, at.i+here, step); i >= 0 {
			at.i = i
			c.downToLive(t, step)
			return true
		}
		c.depth--
	}
	return false
}

// downToLive opens the path below the cursor's last node to the outermost live
// entry there.
func (c *cursor[V]) downToLive(t *tree[V], step int) {
	for {
		at := &c.path[c.depth-1]
		if at.n.leaf() {
			return
		}
		kid, from := at.n.kids[at.i], 0
		if step < 0 {
			from = int(kid.n) - 1
		}
		c.push(kid, t.liveAt(kid, from, step))
	}
}

// liveAt returns the first position of n with anything live, going from one in
// steps; -1 if there is none.
func (t *tree[V]) liveAt(n *node[V], from, step int) int {
	if !n.rank.live {
		return -1
	}
	for i := from; i >= 0 && i < int(n.n); i += step {
		if t.rankAt(n, i).live {
			return i
		}
	}
	return -1
}
