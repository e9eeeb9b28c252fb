// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

// segments walks over a write map, each key with operations and each gap a
// segment of its own. Together they cover all keys.
type segments struct {
	cursor   btree.Cursor[written]
	operated *written // the segment is a key with these operations; nil: a gap
	gap      span     // what was done to the gap
	ok       bool
	first    []byte // where the segment begins, if not where the entry does
}

// segments returns a walk from the segment that holds key.
func (m *writeMap) segments(key []byte) (s segments) {
	if m.order().IsEmpty() {
		return s
	}
	s.ok = s.cursor.SeekFloor(&m.entries, key)
	s.enter(bytes.Equal(s.cursor.Key(), key))
	return s
}

// segmentsBelow returns the segment that ends at or holds what lies just below
// key.
func (m *writeMap) segmentsBelow(key []byte) (s segments) {
	if m.order().IsEmpty() || len(key) == 0 {
		return s
	}
	if s.ok = s.cursor.SeekBelow(&m.entries, key); !s.ok {
		return s
	}
	s.enter(false)
	if s.operated == nil && s.first != nil && bytes.Compare(s.first, key) >= 0 {
		s.enter(true)
	}
	return s
}

// enter begins with the entry's key, or with the gap behind it.
func (s *segments) enter(atKey bool) {
	w := s.cursor.Value()
	s.operated, s.gap, s.first = nil, w.gap, nil
	switch {
	case atKey && len(w.ops) > 0:
		s.operated = w
	case len(w.ops) > 0:
		s.first = behind(s.cursor.Key())
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
		return behind(s.cursor.Key())
	}
	if next, ok := s.cursor.PeekKey(); ok {
		return next
	}
	return limit
}

// next moves to the following segment.
func (s *segments) next() {
	if s.operated != nil {
		s.enter(false)
		if next, ok := s.cursor.PeekKey(); !ok || !bytes.Equal(next, s.first) {
			return
		}
	}
	if s.ok = s.cursor.Next(); s.ok {
		s.enter(true)
	}
}

// behind is successor for a key that is never modified: where a zero byte follows
// it in memory, as behind what ownBytes returns, nothing is copied.
func behind(key []byte) []byte {
	if n := len(key); n < cap(key) && key[:n+1][n] == 0 {
		return key[: n+1 : n+1]
	}
	return successor(key)
}

// successor returns a new key that is the first behind key.
func successor(key []byte) []byte {
	after := make([]byte, len(key)+1, len(key)+2)
	copy(after, key)
	return after[: len(key)+1 : len(key)+2]
}
