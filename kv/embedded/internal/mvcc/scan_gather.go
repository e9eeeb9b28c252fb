// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// gather collects the pairs of [begin, end) and reports whether g became full.
// The scan is of no use afterwards.
func (s *Scan) gather(begin, end []byte, g *rangeread.Builder) (full bool) {
	s.begin, s.end, s.lend = begin, end, true
	for ok := s.seek(begin); ok && bytes.Compare(s.key, end) < 0; ok = s.next() {
		if s.take(g) || s.stored && s.gatherStored(end, g) {
			return true
		}
	}
	return false
}

// take takes the present pair.
func (s *Scan) take(g *rangeread.Builder) (full bool) {
	if !s.stored {
		return g.Add(s.key, s.value)
	}
	full = g.AddCopy(s.key, s.value)
	s.key = g.LastKey() // s.key was only lent
	return full
}

// gatherStored goes on with what lies between the present pair, which is one of
// the base, and end or the window's next entry: there is only the base.
func (s *Scan) gatherStored(end []byte, g *rangeread.Builder) (full bool) {
	if s.gap != Unknown {
		return false
	}
	if s.at.Valid() {
		end = keys.Min(end, s.at.Key())
	}
	b := &s.base
	for b.ok = b.iter.Next(); b.ok && bytes.Compare(b.key(), end) < 0 && s.step(); b.ok = b.iter.Next() {
		if full = g.AddCopy(b.key(), b.iter.Value()); full {
			return true
		}
	}
	s.key = g.LastKey()
	b.sought = position{s.key, true}
	b.outcome(s)
	return false
}

// gatherBelow is gather from end down.
func (s *Scan) gatherBelow(begin, end []byte, g *rangeread.Builder) (full bool) {
	s.begin, s.end, s.lend = begin, end, true
	for ok := s.seekBelow(end); ok && bytes.Compare(s.key, begin) >= 0; ok = s.seekBelow(s.key) {
		if s.take(g) {
			return true
		}
		s.where.key = s.key
		if s.stored && s.gatherStoredBelow(begin, g) {
			return true
		}
	}
	return false
}

// gatherStoredBelow is gatherStored downwards.
func (s *Scan) gatherStoredBelow(begin []byte, g *rangeread.Builder) (full bool) {
	at := s.at.Key()
	if s.at.Value().gap != Unknown || bytes.Compare(at, s.key) >= 0 {
		return false
	}
	b := &s.base
	for b.ok = b.iter.Prev(); b.ok && bytes.Compare(b.key(), begin) >= 0 && bytes.Compare(b.key(), at) > 0 && s.step(); b.ok = b.iter.Prev() {
		if full = g.AddCopy(b.key(), b.iter.Value()); full {
			return true
		}
	}
	s.key = g.LastKey()
	s.where = position{s.key, false}
	b.sought = s.where
	b.outcome(s)
	return false
}
