// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// scan walks over the keys of a view that have a value, in either direction. A
// seek that only goes on from where the last one led costs a step. Errors are
// kept for close; the scan then behaves as if there were no more keys.
type scan struct {
	view  *view
	key   []byte
	value []byte

	at     btree.Cursor[entry] // ascending: the first entry not below where; descending: the last below
	course course
	where  spotOf
	gap    knowledge // ascending: of the gap below at
	base   baseScan
	begin  []byte            // nothing below it will be sought; nil: no bound
	end    []byte            // nothing from it on will be sought; nil: no bound
	stored bool              // the present pair is one of the base
	lend   bool              // pairs of the base need not be copied: they are used before the next step
	passed int               // how many entries without a value were passed one by one
	runs   []kv.KeyRange     // long ones of such
	budget *rangeread.Budget // of the read; nil: no bound
	err    error
}

// course is the direction that a scan has taken.
type course uint8

const (
	nowhereYet course = iota
	ascending
	descending
)

// spotOf is a key, or the place just behind it.
type spotOf struct {
	key    []byte
	behind bool
}

func (s *scan) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// close releases the scan and returns the first error. It may be called again.
func (s *scan) close() error {
	if used, err := s.base.close(); used {
		s.fail(err)
		s.fail(s.view.checkBase())
		if s.err == nil {
			s.tellRuns()
		}
	}
	return s.err
}

// step counts a step and reports whether the scan may go on.
func (s *scan) step() bool {
	if s.budget != nil {
		s.fail(s.budget.Step())
	}
	return s.err == nil
}

// found makes a pair the scan's present one.
func (s *scan) found(key, value []byte) bool {
	s.key, s.value, s.stored = key, value, false
	return true
}

// foundStored makes the base's present pair the scan's.
func (s *scan) foundStored() bool {
	s.stored = true
	if s.lend {
		s.key, s.value = s.base.key(), s.base.iter.Value()
	} else {
		s.key, s.value = s.base.pair()
	}
	return true
}

// seek moves to the first key not below from and reports whether there is one.
func (s *scan) seek(from []byte) bool {
	if s.err != nil {
		return false
	}
	switch {
	case s.course == ascending && s.key != nil && keys.IsSuccessor(from, s.key):
		s.where = spotOf{s.key, true}
	case s.course == ascending && !s.where.passed(from):
		s.where = spotOf{from, false}
	default:
		if r, in := s.view.vacant.Find(from, false); in {
			from = r.End
		}
		s.course, s.where = ascending, spotOf{from, false}
		s.restart(from)
	}
	s.catchUp()
	return s.ascend()
}

// next moves to the key behind the one that seek or next has found.
func (s *scan) next() bool {
	if s.err != nil {
		return false
	}
	s.where = spotOf{s.key, true}
	s.catchUp()
	return s.ascend()
}

// restart places the cursor anew.
func (s *scan) restart(from []byte) {
	entries := &s.view.entries
	s.gap = absent
	if s.view.base == nil {
		s.at.Seek(entries, from)
		return
	}
	if s.at.SeekFloor(entries, from) && !bytes.Equal(s.at.Key(), from) {
		s.gap = s.at.Value().gap
		s.at.Next()
	}
}

// catchUp moves the cursor to the first entry not below where.
func (s *scan) catchUp() {
	for tries := 0; s.at.Valid() && s.where.passed(s.at.Key()); tries++ {
		if tries == 3 {
			s.restart(s.where.key)
			continue
		}
		s.pass()
	}
}

// pass goes behind the cursor's entry.
func (s *scan) pass() {
	if s.view.base != nil {
		s.gap = s.at.Value().gap
	}
	s.at.Next()
}

// passed reports whether key lies before the place.
func (p spotOf) passed(key []byte) bool {
	c := bytes.Compare(key, p.key)
	return c < 0 || c == 0 && p.behind
}

// ascend finds the first pair at or behind where.
func (s *scan) ascend() bool {
	r := s.beginRun()
	found := s.ascendTo()
	s.endRun(r)
	return found
}

func (s *scan) ascendTo() bool {
	for s.step() {
		if s.gap == unknown {
			if s.base.seek(s, s.where) && (!s.at.Valid() || bytes.Compare(s.base.key(), s.at.Key()) < 0) {
				return s.foundStored()
			}
			if s.err != nil {
				return false
			}
		}
		if !s.at.Valid() || s.end != nil && bytes.Compare(s.at.Key(), s.end) >= 0 {
			s.key = nil
			return false
		}
		switch e := s.at.Value(); e.point {
		case present:
			return s.found(s.at.Key(), e.value)
		case unknown:
			if s.base.seek(s, spotOf{s.at.Key(), false}) && bytes.Equal(s.base.key(), s.at.Key()) {
				return s.foundStored()
			}
			if s.err != nil {
				return false
			}
		}
		s.where = spotOf{s.at.Key(), true}
		if s.pass(); s.stepped() {
			s.leap()
		}
	}
	return false
}

// seekBelow moves to the last key below from.
func (s *scan) seekBelow(from []byte) bool {
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
	s.where = spotOf{from, false}
	return s.descend()
}

// descend finds the last pair below where.
func (s *scan) descend() bool {
	r := s.beginRun()
	found := s.descendTo()
	s.endRunBelow(r)
	return found
}

func (s *scan) descendTo() bool {
	for s.at.Valid() {
		if !s.step() {
			return false
		}
		e := s.at.Value()
		if s.view.base != nil && s.descendBase(e) {
			s.where = spotOf{s.key, false}
			return true
		}
		if s.err != nil {
			return false
		}
		s.where = spotOf{s.at.Key(), false}
		if e.point == present {
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
func (s *scan) descendBase(e *entry) bool {
	at := s.at.Key()
	if e.gap == unknown && s.base.seekBelow(s, s.where) && bytes.Compare(s.base.key(), at) > 0 {
		return s.foundStored()
	}
	if e.point == unknown && s.base.seekBelow(s, spotOf{at, true}) && bytes.Equal(s.base.key(), at) {
		return s.foundStored()
	}
	return false
}

// before reports whether p lies before q.
func (p spotOf) before(q spotOf) bool {
	c := bytes.Compare(p.key, q.key)
	return c < 0 || c == 0 && !p.behind && q.behind
}
