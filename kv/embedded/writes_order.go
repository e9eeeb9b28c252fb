// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"cmp"
	"slices"
)

// order brings what is listed into the map.
func (m *writeMap) order() *tree[written] {
	listed := m.listed
	m.listed = nil
	switch {
	case len(listed) == 0:
	case apart(listed):
		m.build(listed)
	default:
		m.enterAll(listed)
	}
	return &m.entries
}

// apart sorts what is listed by key, and reports whether no two keys follow each
// other at once. Then what is done to one does not concern the others.
func apart(listed []mutation) bool {
	byKey := func(a, b mutation) int { return bytes.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(listed, byKey) {
		sorted := sortedByKey(listed)
		for i := 1; i < len(sorted); i++ {
			if isSuccessor(sorted[i].key, sorted[i-1].key) {
				return false
			}
		}
		copy(listed, sorted)
		return true
	}
	for i := 1; i < len(listed); i++ {
		if isSuccessor(listed[i].key, listed[i-1].key) {
			return false
		}
	}
	return true
}

// sortedByKey returns a copy in the order of keys; what is done to one key stays
// in the order in which it was listed.
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
	items := make([]item[written], 0, len(listed)+2)
	if len(listed[0].key) > 0 {
		items = append(items, item[written]{key: []byte{}})
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
	m.entries.build(items)
}

// appendKey appends the entry of one key, and the bound behind it that a clear
// makes. ops is room.
func appendKey(items []item[written], listed []mutation, ops []operation) []item[written] {
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
	items = append(items, item[written]{listed[0].key, w})
	if bound != nil {
		items = append(items, item[written]{key: bound})
	}
	return items
}
