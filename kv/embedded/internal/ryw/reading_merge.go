// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"
	"sort"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// Between two requests a walk goes over keys that are known. What it meets there
// are stored pairs and own writes, in order, and nothing but the limits and
// unreadable keys can end it. So it merges the two in a loop, instead of going
// section by section: the result is the same.

// storedRun is what the database holds of some keys.
type storedRun struct {
	keys  kv.KeyRange   // all stored pairs of these keys are among pairs
	pairs []kv.KeyValue // in the order of the walk
	back  bool          // it goes backward
}

// from returns the pairs from edge on, in the order of the walk.
func (r *storedRun) from(edge []byte) []kv.KeyValue {
	at := sort.Search(len(r.pairs), func(i int) bool {
		c := bytes.Compare(r.pairs[i].Key, edge)
		return r.back && c < 0 || !r.back && c >= 0
	})
	return r.pairs[at:]
}

// merging is a merge of stored pairs and own writes.
type merging struct {
	*reading
	stored []kv.KeyValue         // not yet passed, in the order of the walk
	own    btree.Cursor[written] // the entry whose key or gap comes next; not valid: there are no own writes
	edge   []byte                // how far the merge has come
	after  bool                  // it has come to the key behind edge
	bound  []byte                // where it ends
	moved  bool                  // it has passed something
}

// mergeForward goes over known keys from r.at on, and reports whether it passed any.
func (r *reading) mergeForward() bool {
	m, ok := r.merge(false)
	if !ok {
		return false
	}
	if r.writes != nil {
		m.own.SeekFloor(r.writes.order(), m.edge)
	}
	if m.forward(); !m.moved {
		return false
	}
	if m.after {
		m.edge = keys.SharedSuccessor(m.edge)
	}
	r.run.pairs, r.run.keys.Begin = m.stored, m.edge
	r.at = r.after(&section{end: m.edge})
	return true
}

// mergeBackward goes back over known keys from r.at, and reports whether it passed
// any.
func (r *reading) mergeBackward() bool {
	m, ok := r.merge(true)
	if !ok {
		return false
	}
	if r.writes != nil {
		m.own.SeekBelow(r.writes.order(), m.edge)
	}
	if m.backward(); !m.moved {
		return false
	}
	r.run.pairs, r.run.keys.End = m.stored, m.edge
	r.at = r.before(&section{begin: m.edge})
	return true
}

// merge prepares a merge from r.at up to the goal. It reports whether there is
// anything to merge.
func (r *reading) merge(back bool) (m merging, ok bool) {
	m = merging{reading: r, edge: r.at.far(!back)}
	if r.left.Reached() || r.err != nil {
		return m, false
	}
	if back {
		m.bound = r.goal.end
	} else {
		m.bound = r.goal.begin
	}
	if !m.ahead(m.bound, back) || !r.knownAround(m.edge, back) {
		return m, false
	}
	if back {
		m.bound = keys.Max(m.bound, r.about.Begin)
	} else {
		m.bound = keys.Min(m.bound, r.about.End)
	}
	if !r.ensureRun(m.edge, m.bound, back) {
		return m, false
	}
	if back {
		m.bound = keys.Max(m.bound, r.run.keys.Begin)
	} else {
		m.bound = keys.Min(m.bound, r.run.keys.End)
	}
	m.stored = r.run.from(m.edge)
	return m, m.ahead(m.bound, back)
}

// ahead reports whether key lies before the merge.
func (m *merging) ahead(key []byte, back bool) bool {
	if back {
		return bytes.Compare(m.edge, key) > 0
	}
	return bytes.Compare(m.edge, key) < 0
}

// ensureRun sees to it that the run holds the stored pairs next to edge, which is
// known. One that was read for a request mostly does. Else it is read, up to
// bound, unless there is room for one key only.
func (r *reading) ensureRun(edge, bound []byte, back bool) bool {
	if r.run.keys.End != nil && r.run.back == back && keys.Holds(r.run.keys, edge, back) {
		return true
	}
	missing := kv.KeyRange{Begin: edge, End: bound}
	if back {
		missing = kv.KeyRange{Begin: bound, End: edge}
	}
	if keys.IsSuccessor(missing.End, missing.Begin) {
		return false
	}
	var g rangeread.Builder
	g.Start(r.left, r.lastSize, r.res.kvs)
	g.SetPairCost(rangeread.ClientPairCost) // no server is asked for what is known
	if r.left.Bytes == 0 {
		g.SetLimits(replyLimits(r.left))
	}
	if full := r.gather(missing.Begin, missing.End, &g, back); full && back {
		missing.Begin = g.LastKey()
	} else if full {
		missing.End = keys.Successor(g.LastKey())
	}
	r.place(g.Finish(r.lastSize))
	r.run = storedRun{keys: missing, pairs: r.whole[len(r.res.kvs):], back: back}
	return r.err == nil
}

// passed notes how far the merge has come: to edge, or to the key behind it.
func (m *merging) passed(edge []byte, after bool) { m.edge, m.after, m.moved = edge, after, true }

// forward merges until a limit, an unreadable key or the bound.
func (m *merging) forward() {
	if !m.own.Valid() {
		m.takeUpTo(m.bound)
		return
	}
	for atKey := bytes.Equal(m.own.Key(), m.edge); ; atKey = true {
		key, w := m.own.Key(), m.own.Value()
		if atKey && bytes.Compare(key, m.bound) >= 0 || m.left.Reached() {
			return
		}
		if atKey && !m.takeOwn(key, w) {
			return
		}
		more, end := m.own.Next(), m.bound
		if more {
			end = keys.Min(end, m.own.Key())
		}
		if !m.takeGap(w, end, key, len(w.ops) > 0) || !more {
			return
		}
	}
}

// takeOwn passes the key of an entry, and reports whether the merge goes on.
func (m *merging) takeOwn(key []byte, w *written) bool {
	switch {
	case len(w.ops) == 0:
		m.passed(key, false)
		return true
	case w.key.unreadable:
		return false
	}
	var below []byte
	if len(m.stored) > 0 && bytes.Equal(m.stored[0].Key, key) {
		below, m.stored = m.stored[0].Value, m.stored[1:]
	}
	if w.known() {
		below = nil
	}
	if value := w.value(below); value != nil {
		m.add(key, value)
	}
	m.passed(key, true)
	return true
}

// takeGap passes the gap of an entry up to end, and reports whether the merge
// goes on.
func (m *merging) takeGap(w *written, end, key []byte, operated bool) bool {
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
func (m *merging) takeUpTo(end []byte) bool {
	return m.takeStored(m.until(end, false), true)
}

// until returns how many stored pairs come before a bound. It looks at ever more
// at a time: between own writes there are few, or very many.
func (m *merging) until(bound []byte, back bool) int {
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
func (m *merging) takeStored(n int, after bool) bool {
	left := &m.left
	for i := range m.stored[:n] {
		if left.Reached() {
			n = i
			break
		}
		left.Count(len(m.stored[i].Key) + len(m.stored[i].Value))
	}
	if n > 0 {
		m.passed(m.stored[n-1].Key, after)
		m.keep(n)
	}
	return !left.Reached()
}

// keep adds n stored pairs to the result. Where nothing lies between the two, they
// are where they belong already.
func (m *merging) keep(n int) {
	if end := len(m.res.kvs) + n; m.whole != nil && end+len(m.stored)-n == len(m.whole) {
		m.res.kvs = m.whole[:end]
	} else {
		m.res.kvs = append(m.res.kvs, m.stored[:n]...)
	}
	m.stored = m.stored[n:]
}

// add adds a pair to the result: in place of a stored one that was passed, if there
// is one.
func (m *merging) add(key, value []byte) {
	if m.whole != nil && len(m.stored) > 0 && len(m.res.kvs)+len(m.stored) == len(m.whole) {
		m.part()
		m.res.kvs = slices.Grow(m.res.kvs, 2*len(m.stored))
	}
	m.res.kvs = append(m.res.kvs, kv.KeyValue{Key: slices.Clip(key), Value: slices.Clip(value)})
	m.left.Count(len(key) + len(value))
}

// backward is forward from the end.
func (m *merging) backward() {
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
		if !m.takeGapBelow(w, keys.Max(begin, m.bound)) || bytes.Compare(key, m.bound) < 0 {
			return
		}
		if !m.takeOwnBelow(key, w) || m.left.Reached() || !m.own.Prev() || !m.ahead(m.bound, true) {
			return
		}
	}
}

// takeOwnBelow is takeOwn backward.
func (m *merging) takeOwnBelow(key []byte, w *written) bool {
	ok := m.takeOwn(key, w)
	m.after = false
	return ok
}

// takeGapBelow is takeGap backward, down to begin.
func (m *merging) takeGapBelow(w *written, begin []byte) bool {
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
func (m *merging) takeDownTo(begin []byte) bool {
	return m.takeStored(m.until(begin, true), false)
}
