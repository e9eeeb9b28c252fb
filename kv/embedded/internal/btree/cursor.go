// SPDX-License-Identifier: Apache-2.0

package btree

// maxDepth bounds the depth of a tree. A level is added by at least fanout/3
// splits of the level below, so no sequence of edits that fits a lifetime
// reaches it.
const maxDepth = 16

// Cursor is a position in a tree. It stays valid while the tree is not edited,
// so on a snapshot for ever. The zero cursor is at no entry.
type Cursor[V any] struct {
	depth int // frames in use; 0: at no entry
	path  [maxDepth]struct {
		n *node[V]
		i int
	}
}

func (c *Cursor[V]) Valid() bool { return c.depth > 0 }

func (c *Cursor[V]) Key() []byte {
	at := &c.path[c.depth-1]
	return at.n.items[at.i].Key
}

// Value returns the entry's value, which must not be modified.
func (c *Cursor[V]) Value() *V {
	at := &c.path[c.depth-1]
	return &at.n.items[at.i].Value
}

// Seek moves to the first entry whose key is not below key.
func (c *Cursor[V]) Seek(t *Tree[V], key []byte) bool {
	if !c.descend(t, key) {
		return false
	}
	at := &c.path[c.depth-1]
	at.i, _ = at.n.search(key)
	if at.i == int(at.n.n) {
		at.i--
		return c.Next()
	}
	return true
}

// SeekBelow moves to the last entry whose key is below key.
func (c *Cursor[V]) SeekBelow(t *Tree[V], key []byte) bool {
	if !c.descend(t, key) {
		return false
	}
	at := &c.path[c.depth-1]
	at.i, _ = at.n.search(key)
	return c.Prev()
}

// SeekFloor moves to the last entry whose key is not above key.
func (c *Cursor[V]) SeekFloor(t *Tree[V], key []byte) bool {
	if !c.descend(t, key) {
		return false
	}
	at := &c.path[c.depth-1]
	i, found := at.n.search(key)
	at.i = i
	if found {
		return true
	}
	return c.Prev()
}

// descend opens the path to the leaf that key belongs to.
func (c *Cursor[V]) descend(t *Tree[V], key []byte) bool {
	c.depth = 0
	n := t.root
	if n == nil {
		return false
	}
	for !n.leaf() {
		i := n.child(key)
		c.push(n, i)
		n = n.kids[i]
	}
	c.push(n, 0)
	return true
}

func (c *Cursor[V]) push(n *node[V], i int) {
	c.path[c.depth].n, c.path[c.depth].i = n, i
	c.depth++
}

// Next moves to the following entry.
func (c *Cursor[V]) Next() bool {
	at := &c.path[c.depth-1]
	if at.i++; at.i < int(at.n.n) {
		return true
	}
	for c.depth--; c.depth > 0; c.depth-- {
		at := &c.path[c.depth-1]
		if at.i+1 < int(at.n.n) {
			at.i++
			c.outermost(at.n.kids[at.i], false)
			return true
		}
	}
	return false
}

// PeekKey returns the key of the following entry, and whether there is one.
func (c *Cursor[V]) PeekKey() ([]byte, bool) {
	if at := &c.path[c.depth-1]; at.i+1 < int(at.n.n) {
		return at.n.items[at.i+1].Key, true
	}
	next := *c
	if !next.Next() {
		return nil, false
	}
	return next.Key(), true
}

// Prev moves to the entry before.
func (c *Cursor[V]) Prev() bool {
	at := &c.path[c.depth-1]
	if at.i--; at.i >= 0 {
		return true
	}
	for c.depth--; c.depth > 0; c.depth-- {
		at := &c.path[c.depth-1]
		if at.i > 0 {
			at.i--
			c.outermost(at.n.kids[at.i], true)
			return true
		}
	}
	return false
}

// outermost opens the path to the first or the last entry below n.
func (c *Cursor[V]) outermost(n *node[V], last bool) {
	for {
		i := 0
		if last {
			i = int(n.n) - 1
		}
		c.push(n, i)
		if n.leaf() {
			return
		}
		n = n.kids[i]
	}
}
