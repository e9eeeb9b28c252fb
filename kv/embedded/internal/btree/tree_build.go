// SPDX-License-Identifier: Apache-2.0

package btree

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
