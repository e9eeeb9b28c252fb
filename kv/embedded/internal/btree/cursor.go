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

// Seek moves to the first entry with a key not below key.
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

// SeekBelow moves to the last entry with a key below key.
func (c *Cursor[V]) SeekBelow(t *Tree[V], key []byte) bool {
	if !c.descend(t, key) {
		return false
	}
	at := &c.path[c.depth-1]
	at.i, _ = at.n.search(key)
	return c.Prev()
}

// SeekFloor moves to the last entry with a key not above key.
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

// Floor returns the last value with a key not above what was located, nil
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

// insert puts an item, and the kid after it in an inner node, at position i of
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
