// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

// order brings what is listed into the map.
func (m *writeMap) order() *btree.Tree[written] {
	if len(m.listed) == 0 {
		return &m.entries
	}
	listed, ordered := m.listed, m.ordered()
	m.listed, m.byKey = nil, nil
	if apart(ordered) {
		m.build(ordered)
	} else {
		m.enterAll(listed)
	}
	return &m.entries
}

// misses reports whether the map is only a list, and nothing on it is in
// [begin, end). It brings the list in order, unless it has done so when that was
// more than half as long: a transaction that reads and writes in turns needs the
// tree.
func (m *writeMap) misses(begin, end []byte) bool {
	n, before := len(m.listed), len(m.byKey)
	if n == 0 || before < n && 2*before >= n {
		return false
	}
	ordered := m.ordered()
	at, _ := slices.BinarySearchFunc(ordered, begin, func(l mutation, key []byte) int { return bytes.Compare(l.key, key) })
	return at == n || bytes.Compare(ordered[at].key, end) >= 0
}

// apart reports whether no two keys of what is listed, in order, follow each other
// at once. Then what is done to one does not concern the others.
func apart(ordered []mutation) bool {
	for i := 1; i < len(ordered); i++ {
		if isSuccessor(ordered[i].key, ordered[i-1].key) {
			return false
		}
	}
	return true
}

// ordered returns what is listed in the order of keys; what is done to one key is
// in the order in which it was listed.
func (m *writeMap) ordered() []mutation {
	if len(m.byKey) < len(m.listed) {
		m.byKey = m.listed
		if !slices.IsSortedFunc(m.listed, func(a, b mutation) int { return bytes.Compare(a.key, b.key) }) {
			m.byKey = sortedByKey(m.listed)
		}
	}
	return m.byKey
}

// sortedByKey returns a copy in the order of keys.
func sortedByKey(listed []mutation) []mutation {
	places := make([]int, len(listed))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(bytes.Compare(listed[a].key, listed[b].key), cmp.Compare(a, b))
	})
	sorted := make([]mutation, len(listed))
	for i, at := range places {
		sorted[i] = listed[at]
	}
	return sorted
}

// enterAll enters what is listed, one after the other.
func (m *writeMap) enterAll(listed []mutation) {
	for i := range listed {
		if l := &listed[i]; l.op == opClearRange {
			m.enterClear(l.key, l.value, true)
		} else {
			m.enter(l.key, operation{l.op, l.value}, true)
		}
	}
}

// build makes the map of what is listed, which is in order and apart: the same as
// [writeMap.enterAll], at once.
func (m *writeMap) build(listed []mutation) {
	items := make([]btree.Item[written], 0, len(listed)+2)
	if len(listed[0].key) > 0 {
		items = append(items, btree.Item[written]{Key: []byte{}})
	}
	ops := make([]operation, len(listed))
	for begin := 0; begin < len(listed); {
		end := begin + 1
		for end < len(listed) && bytes.Equal(listed[end].key, listed[begin].key) {
			end++
		}
		items = appendKey(items, listed[begin:end], ops[begin:end])
		begin = end
	}
	m.entries.Build(items)
}

// appendKey appends the entry of one key, and the bound behind it that a clear
// makes. ops is room.
func appendKey(items []btree.Item[written], listed []mutation, ops []operation) []btree.Item[written] {
	var (
		w     written
		bound []byte
	)
	for i := range listed {
		if l := &listed[i]; l.op == opClearRange {
			w, bound = written{gap: span{cleared: true, conflict: true}}, l.value
		} else {
			ops[i] = operation{l.op, l.value}
			w = w.then(ops[i:i+1:i+1], true)
		}
	}
	items = append(items, btree.Item[written]{Key: listed[0].key, Value: w})
	if bound != nil {
		items = append(items, btree.Item[written]{Key: bound})
	}
	return items
}
