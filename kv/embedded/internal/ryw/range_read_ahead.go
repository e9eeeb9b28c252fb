// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

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
