// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"
	"sort"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// lookAhead returns the last section that the request beginning at r.at fetches: it
// goes on over pairs that are known, and over single keys that are known to be
// absent, but over no wider gap (ReadYourWrites: skipUncached). It counts those keys.
func (r *rangeRead) lookAhead(back bool) (last section, singles int) {
	l := lookAheadWalk{rangeRead: r, at: r.at, last: r.at, edge: r.at.farEdge(!back), left: r.singlesToSkip() + farthest}
	for l.left > 0 && !l.at.equals(&r.goal) {
		if l.passOwn(back) {
			continue
		}
		switch l.at.kind {
		case unreadableKeys:
			return l.last, singles
		case empty:
			if isWider(l.edge, l.at.farEdge(back), back) {
				return l.last, singles
			}
			singles++
		default:
			l.edge = l.at.farEdge(back)
			if l.at.kind == unknownKeys {
				l.last = l.at
			}
		}
		l.left--
		l.at = r.nextSection(&l.at, back)
	}
	if l.at.kind == unknownKeys {
		l.last = l.at
	}
	return l.last, singles
}

// lookAheadWalk is the state of lookAhead.
type lookAheadWalk struct {
	*rangeRead
	at   section
	last section // to be fetched, so far
	edge []byte  // where the look left the last section that is not an absent key
	left int     // how many sections may still be looked at
}

// passOwn passes sections in a loop as long as they are own writes among keys that
// are not known, and the gaps between them. It reports whether it passed any.
func (l *lookAheadWalk) passOwn(back bool) bool {
	from := l.at.farEdge(!back)
	if l.writes == nil || l.at.kind == unreadableKeys || l.knownAround(from, back) {
		return false
	}
	edge := l.edge
	l.edge = from
	if back {
		l.passBackward(keys.Max(l.around.Begin, l.goal.end))
	} else {
		l.passForward(keys.Min(l.around.End, l.goal.begin))
	}
	if bytes.Equal(l.edge, from) {
		l.edge = edge
		return false
	}
	next := section{begin: l.edge, end: l.edge}
	l.at = l.nextSection(&next, back)
	return true
}

func (l *lookAheadWalk) passForward(bound []byte) {
	var c btree.Cursor[writeEntry]
	ok := c.SeekFloor(l.writes.sortedEntries(), l.edge)
	for atKey := ok && bytes.Equal(c.Key(), l.edge); ok && l.left > 0; atKey = true {
		w := c.Value()
		if atKey && len(w.ops) > 0 && (!l.passKey(w, c.Key(), bound, false) || l.left == 0) {
			return
		}
		end, more := c.PeekKey()
		if !more {
			end = keys.SystemEnd
		}
		if bytes.Compare(l.edge, end) < 0 && (bytes.Compare(end, bound) > 0 || !l.passGap(w, end, false)) {
			return
		}
		ok = c.Next()
	}
}

func (l *lookAheadWalk) passBackward(bound []byte) {
	var c btree.Cursor[writeEntry]
	for ok := c.SeekBelow(l.writes.sortedEntries(), l.edge); ok && l.left > 0; ok = c.Prev() {
		w, begin := c.Value(), c.Key()
		if len(w.ops) > 0 {
			begin = keys.SharedSuccessor(begin)
		}
		if bytes.Compare(begin, l.edge) < 0 && (bytes.Compare(begin, bound) < 0 || !l.passGap(w, begin, true)) {
			return
		}
		if len(w.ops) > 0 && (l.left == 0 || !l.passKey(w, c.Key(), bound, true)) {
			return
		}
	}
}

// passKey passes the key of an entry, if it lies before bound.
func (l *lookAheadWalk) passKey(w *writeEntry, key, bound []byte, back bool) bool {
	g := section{begin: key, end: keys.SharedSuccessor(key), own: w}
	if w.key.unreadable || back && bytes.Compare(key, bound) < 0 || !back && bytes.Compare(g.end, bound) > 0 {
		return false
	}
	l.left--
	if l.edge = g.farEdge(back); !w.hidesStored() {
		l.last = g
	}
	return true
}

// passGap passes the rest of an entry's gap, up to edge.
func (l *lookAheadWalk) passGap(w *writeEntry, edge []byte, back bool) bool {
	if w.gap.cleared || w.gap.unreadable {
		return false
	}
	if l.last = (section{begin: l.edge, end: edge}); back {
		l.last = section{begin: edge, end: l.edge}
	}
	l.left--
	l.edge = edge
	return true
}

// mergeWalk is a merge of stored pairs and own writes.
type mergeWalk struct {
	*rangeRead
	stored []kv.KeyValue            // not yet passed, in the order of the walk
	own    btree.Cursor[writeEntry] // the entry with the key or gap that comes next; not valid: there are no own writes
	edge   []byte                   // how far the merge has come
	after  bool                     // it has come to the key after edge
	bound  []byte                   // where it ends
	moved  bool                     // it has passed something
}

// isAhead reports whether key lies before the merge.
func (m *mergeWalk) isAhead(key []byte, back bool) bool {
	if back {
		return bytes.Compare(m.edge, key) > 0
	}
	return bytes.Compare(m.edge, key) < 0
}

// setEdge notes how far the merge has come: to edge, or to the key after it.
func (m *mergeWalk) setEdge(edge []byte, after bool) { m.edge, m.after, m.moved = edge, after, true }

// mergeForward merges until a limit, an unreadable key or the bound.
func (m *mergeWalk) mergeForward() {
	if !m.own.Valid() {
		m.takeUpTo(m.bound)
		return
	}
	for atKey := bytes.Equal(m.own.Key(), m.edge); ; atKey = true {
		key, w := m.own.Key(), m.own.Value()
		if atKey && bytes.Compare(key, m.bound) >= 0 || m.left.Reached() {
			return
		}
		if atKey && !m.passOwnKey(key, w) {
			return
		}
		more, end := m.own.Next(), m.bound
		if more {
			end = keys.Min(end, m.own.Key())
		}
		if !m.passOwnGap(w, end, key, len(w.ops) > 0) || !more {
			return
		}
	}
}

// passOwnKey passes the key of an entry, and reports whether the merge goes on.
func (m *mergeWalk) passOwnKey(key []byte, w *writeEntry) bool {
	switch {
	case len(w.ops) == 0:
		m.setEdge(key, false)
		return true
	case w.key.unreadable:
		return false
	}
	var below []byte
	if len(m.stored) > 0 && bytes.Equal(m.stored[0].Key, key) {
		below, m.stored = m.stored[0].Value, m.stored[1:]
	}
	if w.hidesStored() {
		below = nil
	}
	if value := w.applyTo(below); value != nil {
		m.appendOwn(key, value)
	}
	m.setEdge(key, true)
	return true
}

// passOwnGap passes the gap of an entry up to end, and reports whether the merge
// goes on.
func (m *mergeWalk) passOwnGap(w *writeEntry, end, key []byte, operated bool) bool {
	switch {
	case w.gap.cleared:
		for len(m.stored) > 0 && bytes.Compare(m.stored[0].Key, end) < 0 {
			m.stored = m.stored[1:]
		}
		return true
	case w.gap.unreadable:
		return operated && keys.IsSuccessor(end, key) // there is no gap
	}
	return m.takeUpTo(end)
}

// takeUpTo takes the stored pairs before end, and reports whether the limits let
// it take all.
func (m *mergeWalk) takeUpTo(end []byte) bool {
	return m.takeStored(m.countStored(end, false), true)
}

// countStored returns how many stored pairs come before a bound. It looks at ever more
// at a time: between own writes there are few, or very many.
func (m *mergeWalk) countStored(bound []byte, back bool) int {
	beyond := func(p *kv.KeyValue) bool {
		c := bytes.Compare(p.Key, bound)
		return back && c < 0 || !back && c >= 0
	}
	from, to := 0, 1
	for ; to <= len(m.stored) && !beyond(&m.stored[to-1]); to *= 2 {
		from = to
	}
	rest := m.stored[from:min(to, len(m.stored))]
	return from + sort.Search(len(rest), func(i int) bool { return beyond(&rest[i]) })
}

// takeStored adds up to n stored pairs to the result, as many as the limits let
// it, and reports whether they are not reached.
func (m *mergeWalk) takeStored(n int, after bool) bool {
	left := &m.left
	for i := range m.stored[:n] {
		if left.Reached() {
			n = i
			break
		}
		left.Count(len(m.stored[i].Key) + len(m.stored[i].Value))
	}
	if n > 0 {
		m.setEdge(m.stored[n-1].Key, after)
		m.appendStored(n)
	}
	return !left.Reached()
}

// appendStored adds n stored pairs to the result. Where nothing lies between the two, they
// are where they belong already.
func (m *mergeWalk) appendStored(n int) {
	if end := len(m.res.kvs) + n; m.whole != nil && end+len(m.stored)-n == len(m.whole) {
		m.res.kvs = m.whole[:end]
	} else {
		m.res.kvs = append(m.res.kvs, m.stored[:n]...)
	}
	m.stored = m.stored[n:]
}

// appendOwn adds a pair to the result: in place of a stored one that was passed, if there
// is one.
func (m *mergeWalk) appendOwn(key, value []byte) {
	if m.whole != nil && len(m.stored) > 0 && len(m.res.kvs)+len(m.stored) == len(m.whole) {
		m.clipResult()
		m.res.kvs = slices.Grow(m.res.kvs, 2*len(m.stored))
	}
	m.res.kvs = append(m.res.kvs, kv.KeyValue{Key: slices.Clip(key), Value: slices.Clip(value)})
	m.left.Count(len(key) + len(value))
}

// mergeBackward is mergeForward from the end.
func (m *mergeWalk) mergeBackward() {
	if !m.own.Valid() {
		m.takeDownTo(m.bound)
		return
	}
	for {
		key, w := m.own.Key(), m.own.Value()
		begin := key
		if len(w.ops) > 0 {
			begin = keys.SharedSuccessor(key)
		}
		if !m.passOwnGapBelow(w, keys.Max(begin, m.bound)) || bytes.Compare(key, m.bound) < 0 {
			return
		}
		if !m.passOwnKeyBelow(key, w) || m.left.Reached() || !m.own.Prev() || !m.isAhead(m.bound, true) {
			return
		}
	}
}

// passOwnKeyBelow is passOwnKey backward.
func (m *mergeWalk) passOwnKeyBelow(key []byte, w *writeEntry) bool {
	ok := m.passOwnKey(key, w)
	m.after = false
	return ok
}

// passOwnGapBelow is passOwnGap backward, down to begin.
func (m *mergeWalk) passOwnGapBelow(w *writeEntry, begin []byte) bool {
	switch {
	case w.gap.cleared:
		for len(m.stored) > 0 && bytes.Compare(m.stored[0].Key, begin) >= 0 {
			m.stored = m.stored[1:]
		}
		return true
	case w.gap.unreadable:
		return bytes.Compare(begin, m.edge) >= 0 // there is no gap
	}
	return m.takeDownTo(begin)
}

// takeDownTo is takeUpTo backward.
func (m *mergeWalk) takeDownTo(begin []byte) bool {
	return m.takeStored(m.countStored(begin, true), false)
}
