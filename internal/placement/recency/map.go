// SPDX-License-Identifier: Apache-2.0

// Package recency has the container of a coordinator: a map that keeps its values in the
// order of their last use. It is efficient for millions of values that live long.
package recency

import "hash/maphash"

// Node is a key of a [Map] with its value.
type Node[K comparable, V any] struct {
	Key   K
	Value V

	prev, next *Node[K, V] // in the order of use: the one used before, the one used after
	chain      *Node[K, V] // the next of the same hash
}

// Next returns the node that was used next after n, nil if there is none.
func (n *Node[K, V]) Next() *Node[K, V] { return n.next }

// Map is a map in the order of use. Its order does not depend on the hash of the
// keys. It holds a key once, in the node, and not also in the index: with two
// strings for a key that saves 24 bytes a slot. The zero Map is not usable: see [New].
type Map[K comparable, V any] struct {
	hash           func(K) uint64
	index          map[uint64]*Node[K, V]
	oldest, newest *Node[K, V]
	scan           *Node[K, V] // what NextScan returns next
	len            int
}

// New returns an empty map.
func New[K comparable, V any]() *Map[K, V] {
	seed := maphash.MakeSeed()
	return newMap[K, V](func(key K) uint64 { return maphash.Comparable(seed, key) })
}

func newMap[K comparable, V any](hash func(K) uint64) *Map[K, V] {
	return &Map[K, V]{hash: hash, index: map[uint64]*Node[K, V]{}}
}

// Len returns how many keys the map has.
func (m *Map[K, V]) Len() int { return m.len }

// Oldest returns the node that was not used for longest, nil if the map is empty.
func (m *Map[K, V]) Oldest() *Node[K, V] { return m.oldest }

// Get returns the node of a key, nil if there is none. It does not count as use.
func (m *Map[K, V]) Get(key K) *Node[K, V] {
	n := m.index[m.hash(key)]
	for n != nil && n.Key != key {
		n = n.chain
	}
	return n
}

// Add adds a node as the one used last. Its key must not be in the map.
func (m *Map[K, V]) Add(n *Node[K, V]) {
	h := m.hash(n.Key)
	n.chain = m.index[h]
	m.index[h] = n
	m.link(n)
	m.len++
}

// Remove takes a node of the map out of it.
func (m *Map[K, V]) Remove(n *Node[K, V]) {
	h := m.hash(n.Key)
	if first := m.index[h]; first != n {
		for first.chain != n {
			first = first.chain
		}
		first.chain = n.chain
	} else if n.chain != nil {
		m.index[h] = n.chain
	} else {
		delete(m.index, h)
	}
	n.chain = nil
	m.unlink(n)
	m.len--
}

// Touch makes a node of the map the one used last.
func (m *Map[K, V]) Touch(n *Node[K, V]) {
	if n != m.newest {
		m.unlink(n)
		m.link(n)
	}
}

func (m *Map[K, V]) link(n *Node[K, V]) {
	n.prev, n.next = m.newest, nil
	if m.newest != nil {
		m.newest.next = n
	} else {
		m.oldest = n
	}
	m.newest = n
}

func (m *Map[K, V]) unlink(n *Node[K, V]) {
	if m.scan == n {
		m.scan = n.next
	}
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		m.oldest = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		m.newest = n.prev
	}
	n.prev, n.next = nil, nil
}

// StartScan begins a scan of all nodes at the oldest. The map may change
// during the scan: a node that is touched is scanned later, one that is removed not at all.
func (m *Map[K, V]) StartScan() { m.scan = m.oldest }

// NextScan returns the next node of the scan, nil if it has ended.
func (m *Map[K, V]) NextScan() *Node[K, V] {
	n := m.scan
	if n != nil {
		m.scan = n.next
	}
	return n
}
