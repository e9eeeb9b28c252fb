// SPDX-License-Identifier: Apache-2.0

package btree

// Last moves to the last entry.
func (c *Cursor[V]) Last(t *Tree[V]) bool {
	c.depth = 0
	if t.root != nil {
		c.outermost(t.root, true)
	}
	return c.Valid()
}

// LastInLeaf returns the last key of the leaf that the cursor is in.
func (c *Cursor[V]) LastInLeaf() []byte {
	n := c.path[c.depth-1].n
	return n.items[n.n-1].Key
}

// FirstInLeaf returns the first key of the leaf that the cursor is in.
func (c *Cursor[V]) FirstInLeaf() []byte { return c.path[c.depth-1].n.items[0].Key }

// NextLive moves to the first live entry from here on, in steps that do not
// depend on how many others it passes.
func (c *Cursor[V]) NextLive(t *Tree[V]) bool { return c.toLive(t, 1) }

// PrevLive moves to the last live entry from here down.
func (c *Cursor[V]) PrevLive(t *Tree[V]) bool { return c.toLive(t, -1) }

// toLive moves to the next live entry in a direction, unless it is at one.
func (c *Cursor[V]) toLive(t *Tree[V], step int) bool {
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
func (c *Cursor[V]) downToLive(t *Tree[V], step int) {
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
