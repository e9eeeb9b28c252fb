// SPDX-License-Identifier: Apache-2.0

package embedded

import "bytes"

// gather collects the pairs of [begin, end) and reports whether g became full.
// The scan is of no use afterwards.
func (s *scan) gather(begin, end []byte, g *gathering) (full bool) {
	for ok := s.seek(begin); ok && bytes.Compare(s.key, end) < 0; ok = s.next() {
		if g.keep(s.key, s.value) || s.stored && s.gatherStored(end, g) {
			return true
		}
	}
	return false
}

// gatherStored goes on with what lies between the present pair, which is one of
// the base, and end or the window's next entry: there is only the base.
func (s *scan) gatherStored(end []byte, g *gathering) (full bool) {
	if s.gap != unknown || !s.base.ok {
		return false
	}
	if s.at.valid() {
		end = minKey(end, s.at.key())
	}
	b := &s.base
	for b.ok = b.iter.Next(); b.ok && bytes.Compare(b.key(), end) < 0; b.ok = b.iter.Next() {
		s.key = nil
		if full = g.copy(b.key(), b.iter.Value()); full {
			return true
		}
	}
	if s.key == nil {
		s.key = g.lastKey()
	}
	b.sought = spotOf{s.key, true}
	b.outcome(s)
	return false
}

// gatherBelow is gather from end down.
func (s *scan) gatherBelow(begin, end []byte, g *gathering) (full bool) {
	for ok := s.seekBelow(end); ok && bytes.Compare(s.key, begin) >= 0; ok = s.seekBelow(s.key) {
		if g.keep(s.key, s.value) || s.stored && s.gatherStoredBelow(begin, g) {
			return true
		}
	}
	return false
}

// gatherStoredBelow is gatherStored downwards.
func (s *scan) gatherStoredBelow(begin []byte, g *gathering) (full bool) {
	if s.at.val().gap != unknown || !s.base.ok || bytes.Compare(s.at.key(), s.key) >= 0 {
		return false
	}
	if at := s.at.key(); bytes.Compare(begin, at) <= 0 {
		begin = successor(at)
	}
	b := &s.base
	for b.ok = b.iter.Prev(); b.ok && bytes.Compare(b.key(), begin) >= 0; b.ok = b.iter.Prev() {
		s.key = nil
		if full = g.copy(b.key(), b.iter.Value()); full {
			return true
		}
	}
	if s.key == nil {
		s.key = g.lastKey()
	}
	s.where = spotOf{s.key, false}
	b.sought = s.where
	b.outcome(s)
	return false
}
