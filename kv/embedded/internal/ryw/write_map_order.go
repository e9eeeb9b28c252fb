// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// sortedEntries brings what is listed into the map.
func (m *writeMap) sortedEntries() *btree.Tree[writeEntry] {
	if len(m.listed) == 0 {
		return &m.entries
	}
	listed, ordered := m.listed, m.sortedList()
	m.listed, m.byKey = nil, nil
	if areApart(ordered) {
		m.buildEntries(ordered)
	} else {
		m.enterAll(listed)
	}
	return &m.entries
}

// missesRange reports whether the map is only a list, and nothing on it is in
// [begin, end). It brings the list in order, unless it has done so when that was
// more than half as long: a transaction that reads and writes in turns needs the
// tree.
func (m *writeMap) missesRange(begin, end []byte) bool {
	n, before := len(m.listed), len(m.byKey)
	if n == 0 || before < n && 2*before >= n {
		return false
	}
	ordered := m.sortedList()
	at, _ := slices.BinarySearchFunc(ordered, begin, func(l mutation.Mutation, key []byte) int { return bytes.Compare(l.Key, key) })
	return at == n || bytes.Compare(ordered[at].Key, end) >= 0
}

// areApart reports whether no two keys of what is listed, in order, follow each other
// at once. Then what is done to one does not concern the others.
func areApart(ordered []mutation.Mutation) bool {
	for i := 1; i < len(ordered); i++ {
		if keys.IsSuccessor(ordered[i].Key, ordered[i-1].Key) {
			return false
		}
	}
	return true
}

// sortedList returns what is listed in the order of keys; what is done to one key is
// in the order in which it was listed.
func (m *writeMap) sortedList() []mutation.Mutation {
	if len(m.byKey) < len(m.listed) {
		m.byKey = m.listed
		if !slices.IsSortedFunc(m.listed, func(a, b mutation.Mutation) int { return bytes.Compare(a.Key, b.Key) }) {
			m.byKey = sortedByKey(m.listed)
		}
	}
	return m.byKey
}

// sortedByKey returns a copy in the order of keys.
func sortedByKey(listed []mutation.Mutation) []mutation.Mutation {
	places := make([]int, len(listed))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(bytes.Compare(listed[a].Key, listed[b].Key), cmp.Compare(a, b))
	})
	sorted := make([]mutation.Mutation, len(listed))
	for i, at := range places {
		sorted[i] = listed[at]
	}
	return sorted
}

// enterAll enters what is listed, one after the other.
func (m *writeMap) enterAll(listed []mutation.Mutation) {
	for i := range listed {
		if l := &listed[i]; l.Op == mutation.OpClearRange {
			m.enterClear(l.Key, l.Value, true)
		} else {
			m.enterOperation(l.Key, operation{l.Op, l.Value}, true)
		}
	}
}

// buildEntries makes the map of what is listed, which is in order and apart: the same as
// [writeMap.enterAll], at once.
func (m *writeMap) buildEntries(listed []mutation.Mutation) {
	items := make([]btree.Item[writeEntry], 0, len(listed)+2)
	if len(listed[0].Key) > 0 {
		items = append(items, btree.Item[writeEntry]{Key: []byte{}})
	}
	ops := make([]operation, len(listed))
	for begin := 0; begin < len(listed); {
		end := begin + 1
		for end < len(listed) && bytes.Equal(listed[end].Key, listed[begin].Key) {
			end++
		}
		items = appendKey(items, listed[begin:end], ops[begin:end])
		begin = end
	}
	m.entries.Build(items)
}

// appendKey appends the entry of one key, and the bound after it that a clear
// makes. ops is room.
func appendKey(items []btree.Item[writeEntry], listed []mutation.Mutation, ops []operation) []btree.Item[writeEntry] {
	var (
		w     writeEntry
		bound []byte
	)
	for i := range listed {
		if l := &listed[i]; l.Op == mutation.OpClearRange {
			w, bound = writeEntry{gap: span{cleared: true, conflict: true}}, l.Value
		} else {
			ops[i] = operation{l.Op, l.Value}
			w = w.withOperation(ops[i:i+1:i+1], true)
		}
	}
	items = append(items, btree.Item[writeEntry]{Key: listed[0].Key, Value: w})
	if bound != nil {
		items = append(items, btree.Item[writeEntry]{Key: bound})
	}
	return items
}

// segments walks over a write map, each key with operations and each gap a
// segment of its own. Together they cover all keys.
type segments struct {
	cursor   btree.Cursor[writeEntry]
	operated *writeEntry // the segment is a key with these operations; nil: a gap
	gap      span        // what was done to the gap
	ok       bool
	first    []byte // where the segment begins, if not where the entry does
}

// segments returns a walk from the segment that holds key.
func (m *writeMap) segments(key []byte) (s segments) {
	if m.sortedEntries().IsEmpty() {
		return s
	}
	s.ok = s.cursor.SeekFloor(&m.entries, key)
	s.enterEntry(bytes.Equal(s.cursor.Key(), key))
	return s
}

// segmentsBelow returns the segment that ends at or holds what lies just below
// key.
func (m *writeMap) segmentsBelow(key []byte) (s segments) {
	if m.sortedEntries().IsEmpty() || len(key) == 0 {
		return s
	}
	if s.ok = s.cursor.SeekBelow(&m.entries, key); !s.ok {
		return s
	}
	s.enterEntry(false)
	if s.operated == nil && s.first != nil && bytes.Compare(s.first, key) >= 0 {
		s.enterEntry(true)
	}
	return s
}

// enterEntry begins with the entry's key, or with the gap after it.
func (s *segments) enterEntry(atKey bool) {
	w := s.cursor.Value()
	s.operated, s.gap, s.first = nil, w.gap, nil
	switch {
	case atKey && len(w.ops) > 0:
		s.operated = w
	case len(w.ops) > 0:
		s.first = keys.SharedSuccessor(s.cursor.Key())
	}
}

func (s *segments) valid() bool { return s.ok }

func (s *segments) span() span {
	if s.operated != nil {
		return s.operated.key
	}
	return s.gap
}

// begin returns the first key of the segment.
func (s *segments) begin() []byte {
	if s.first != nil {
		return s.first
	}
	return s.cursor.Key()
}

// end returns the first key after the segment, or limit if that is the last
// segment.
func (s *segments) end(limit []byte) []byte {
	if s.operated != nil {
		return keys.SharedSuccessor(s.cursor.Key())
	}
	if next, ok := s.cursor.PeekKey(); ok {
		return next
	}
	return limit
}

// next moves to the following segment.
func (s *segments) next() {
	if s.operated != nil {
		s.enterEntry(false)
		if next, ok := s.cursor.PeekKey(); !ok || !bytes.Equal(next, s.first) {
			return
		}
	}
	if s.ok = s.cursor.Next(); s.ok {
		s.enterEntry(true)
	}
}
