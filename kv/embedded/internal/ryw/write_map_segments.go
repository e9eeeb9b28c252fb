// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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

// enterEntry begins with the entry's key, or with the gap behind it.
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

// end returns the first key behind the segment, or limit if that is the last
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
