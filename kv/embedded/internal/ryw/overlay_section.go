// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// section is a key with a value, or a range of keys that are alike.
type section struct {
	kind  sectionKind
	begin []byte
	end   []byte
	value []byte      // of a stored pair
	own   *writeEntry // a pair's own operations; nil: it is as stored
}

type sectionKind uint8

// isKnown reports whether the section can be passed.
func (g *section) isKnown() bool { return g.kind == empty || g.kind == pair }

// equals reports whether two sections of one overlay are the same.
func (g *section) equals(o *section) bool {
	return bytes.Equal(g.end, o.end) && bytes.Equal(g.begin, o.begin)
}

// sectionAfter returns the section behind g.
func (s *overlay) sectionAfter(g *section) section {
	if bytes.Compare(g.end, keys.SystemEnd) >= 0 {
		return behindAll
	}
	next, found := s.ownSectionAt(g.end, false)
	next.begin = g.end
	if found {
		return next
	}
	return s.upTo(next, g.end)
}

// upTo ends a section of stored keys at the first pair from key on, or is it.
func (s *overlay) upTo(g section, key []byte) section {
	next, value, there := s.firstStored(key, g.end)
	switch {
	case !there:
		g.kind = empty
	case bytes.Equal(next, key):
		g = section{kind: pair, begin: next, end: keys.Successor(next), value: value}
	default:
		g.kind, g.end = empty, next
	}
	return g
}

// sectionBefore returns the section in front of g.
func (s *overlay) sectionBefore(g *section) section {
	if len(g.begin) == 0 {
		return beforeAll
	}
	prev, found := s.ownSectionAt(g.begin, true)
	prev.end = g.begin
	if found {
		return prev
	}
	low, value := s.lastStored(prev.begin, g.begin)
	switch {
	case low == nil:
		prev.kind = empty
	case keys.IsSuccessor(g.begin, low):
		prev = section{kind: pair, begin: low, end: g.begin, value: value}
	default:
		prev.kind, prev.begin = empty, keys.Successor(low)
	}
	return prev
}

// nextSection returns the section next to g.
func (s *overlay) nextSection(g *section, back bool) section {
	if back {
		return s.sectionBefore(g)
	}
	return s.sectionAfter(g)
}

// farEdge returns the edge of g at which a walk leaves it.
func (g *section) farEdge(back bool) []byte {
	if back {
		return g.begin
	}
	return g.end
}
