// SPDX-License-Identifier: Apache-2.0

package recency

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
// meanwhile: a node that is touched is scanned later, one that is removed not at all.
func (m *Map[K, V]) StartScan() { m.scan = m.oldest }

// NextScan returns the next node of the scan, nil if it has ended.
func (m *Map[K, V]) NextScan() *Node[K, V] {
	n := m.scan
	if n != nil {
		m.scan = n.next
	}
	return n
}
