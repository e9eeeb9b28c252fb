// SPDX-License-Identifier: Apache-2.0

package mvcc

import "bytes"

// seekBelow moves to the last key below from.
func (s *Scan) seekBelow(from []byte) bool {
	if s.err != nil {
		return false
	}
	if s.course != descending || !bytes.Equal(from, s.where.key) {
		if r, in := s.view.vacant.Find(from, true); in {
			from = r.Begin
		}
		s.course = descending
		s.at.SeekBelow(&s.view.entries, from)
	} else if s.at.Valid() && bytes.Equal(s.at.Key(), from) {
		s.at.Prev()
	}
	s.where = position{from, false}
	return s.descend()
}

// descend finds the last pair below where.
func (s *Scan) descend() bool {
	r := s.beginRun()
	found := s.descendTo()
	s.endRunBelow(r)
	return found
}

func (s *Scan) descendTo() bool {
	for s.at.Valid() {
		if !s.step() {
			return false
		}
		e := s.at.Value()
		if s.view.base != nil && s.descendBase(e) {
			s.where = position{s.key, false}
			return true
		}
		if s.err != nil {
			return false
		}
		s.where = position{s.at.Key(), false}
		if e.point == Present {
			return s.found(s.at.Key(), e.value)
		}
		if s.begin != nil && bytes.Compare(s.at.Key(), s.begin) <= 0 {
			break
		}
		if s.at.Prev(); s.stepped() {
			s.leapBelow()
		}
	}
	s.key = nil
	return false
}

// descendBase finds a pair of the base below where that the cursor's entry e,
// or the gap behind it, lets through.
func (s *Scan) descendBase(e *entry) bool {
	at := s.at.Key()
	if e.gap == Unknown && s.base.seekBelow(s, s.where) && bytes.Compare(s.base.key(), at) > 0 {
		return s.foundStored()
	}
	if e.point == Unknown && s.base.seekBelow(s, position{at, true}) && bytes.Equal(s.base.key(), at) {
		return s.foundStored()
	}
	return false
}
