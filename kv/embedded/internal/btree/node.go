// SPDX-License-Identifier: Apache-2.0

package btree

import "bytes"

// node is a leaf or an inner node. In an inner node items[i] is not above any
// key of kids[i] and above every key of kids[i-1]; its items[0] is nil.
//
// A search that compared whole keys would wait for the memory of each. So a
// node has their heads, of eight bytes, side by side: what all its keys begin
// with is left out, and heads that are equal are rare.
type node[V any] struct {
	edit  uint64
	Rank        // of all below, where the tree ranks
	n     int32 // items in use
	skip  int32 // how many bytes all keys begin with that the heads leave out
	heads [fanout]uint64
	items [fanout]*Item[V]
	kids  *[fanout]*node[V] // nil: a leaf
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

func (n *node[V]) leaf() bool { return n.kids == nil }

// first is the position of the first key.
func (n *node[V]) first() int {
	if n.leaf() {
		return 0
	}
	return 1
}

// headOf returns the first eight bytes of b as a number that orders as they do.
func headOf(b []byte) (h uint64) {
	if len(b) >= 8 {
		_ = b[7]
		return uint64(b[0])<<56 | uint64(b[1])<<48 | uint64(b[2])<<40 | uint64(b[3])<<32 |
			uint64(b[4])<<24 | uint64(b[5])<<16 | uint64(b[6])<<8 | uint64(b[7])
	}
	for i, c := range b {
		h |= uint64(c) << (56 - 8*i)
	}
	return h
}

// search returns the position of the first key not below key, and whether it
// is key.
func (n *node[V]) search(key []byte) (int, bool) {
	lo, hi := n.first(), int(n.n)
	if lo == hi {
		return lo, false
	}
	rest := key
	if skip := int(n.skip); skip > 0 {
		common := n.items[lo].Key[:skip]
		if len(key) < skip || string(key[:skip]) != string(common) {
			if bytes.Compare(key, common) < 0 {
				return lo, false
			}
			return hi, false
		}
		rest = key[skip:]
	}
	h := headOf(rest)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if n.heads[mid&(fanout-1)] < h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == int(n.n) || n.heads[lo&(fanout-1)] != h {
		return lo, false
	}
	return n.searchEqual(lo, h, key)
}

// searchEqual is search among the keys with head h, from position lo on.
func (n *node[V]) searchEqual(lo int, h uint64, key []byte) (int, bool) {
	hi := lo + 1
	for hi < int(n.n) && n.heads[hi] == h {
		hi++
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := bytes.Compare(n.items[mid].Key, key); {
		case c < 0:
			lo = mid + 1
		case c > 0:
			hi = mid
		default:
			return mid, true
		}
	}
	return lo, false
}

// child returns the position of the kid that key belongs to.
func (n *node[V]) child(key []byte) int {
	i, found := n.search(key)
	if !found {
		i--
	}
	return i
}

// prepare recomputes what search needs.
func (n *node[V]) prepare() {
	from, to := n.first(), int(n.n)
	n.skip = 0
	if to-from > 1 {
		n.skip = int32(commonPrefix(n.items[from].Key, n.items[to-1].Key))
	}
	for i := from; i < to; i++ {
		n.heads[i] = headOf(n.items[i].Key[n.skip:])
	}
}

// commonPrefix returns how many bytes a and b both begin with.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// insert makes room at position i. There is some.
func (n *node[V]) insert(i int, it *Item[V], kid *node[V]) {
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
	if other >= int(n.n) || n.skip > 0 && commonPrefix(it.Key, n.items[other].Key[:n.skip]) < int(n.skip) {
		n.prepare()
		return
	}
	n.heads[i] = headOf(it.Key[n.skip:])
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
