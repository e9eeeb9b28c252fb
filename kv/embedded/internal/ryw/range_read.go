// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"
	"sort"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// rangeRead is a range read over own writes and known keys. It follows FoundationDB's
// client (ReadYourWrites: getRangeValue, getRangeValueBack) request by request,
// because a caller sees the difference: in the number of batches, in where selectors
// lead that cross or run off the ends, and in which unreadable keys a read meets.
type rangeRead struct {
	overlay
	begin, end kv.KeySelector // come as far as what is known leads
	askedBegin int            // the offset of begin, or what was left of it at the end of all keys
	askedEnd   int
	at         section // where the read is
	goal       section // where it ends, as far as known
	left       reads.Limits
	past       int // pairs met past the limits, which a selector still counts
	requests   int
	asked      section // where the last request began
	idle       int     // how many requests in a row began there
	res        rangeResult
	whole      []kv.KeyValue // what res has so far and after it, perhaps after a gap, the pairs of run; nil: res is on its own
}

// emptyResult is the result of a range that is empty whatever the database holds.
func (r *rangeRead) emptyResult() (rangeResult, error) { return rangeResult{}, nil }

// edgeResult is the result of a range that ran off an end.
func (r *rangeRead) edgeResult() (rangeResult, error) {
	return rangeResult{toBegin: r.res.toBegin, toEnd: r.res.toEnd}, nil
}

// selectorsCrossed reports whether the selectors leave nothing between them.
func (r *rangeRead) selectorsCrossed() bool {
	return r.askedBegin >= r.askedEnd && bytes.Compare(r.begin.Key, r.end.Key) >= 0
}

// offEnd reports whether the range begins after all keys or ends before them.
func (r *rangeRead) offEnd() bool {
	return r.begin.Offset == 1 && bytes.Equal(r.begin.Key, r.limit) || r.end.Offset == 1 && len(r.end.Key) == 0
}

// narrowSelector moves a selector as far as known keys and own writes lead, and returns
// the section there (ReadYourWrites: resolveKeySelectorFromCache). asked gets the
// offset that is left.
func (r *rangeRead) narrowSelector(sel *kv.KeySelector, asked *int) section {
	counts := sel.Offset != 1
	at := r.overlay.sectionAt(sel.Key)
	if sel.Offset <= 0 && len(sel.Key) > 0 && bytes.Equal(at.begin, sel.Key) {
		at = r.sectionBefore(&at)
	}
	at = r.countPairs(sel, at)
	if counts {
		*asked = sel.Offset
	}
	switch {
	case !at.isKnown():
	case sel.Offset < 1:
		r.res.toBegin = true
		sel.Key, sel.Offset = []byte{}, 1
		return at
	case sel.Offset > 1:
		r.res.toEnd = true
		sel.Key, sel.Offset = r.limit, 1
		return at
	}
	for at.kind == empty && bytes.Compare(at.end, r.limit) < 0 {
		at = r.sectionAfter(&at)
		sel.Key = at.begin
	}
	return at
}

// countPairs brings a selector's offset nearer to 1 by the pairs on its way.
func (r *rangeRead) countPairs(sel *kv.KeySelector, at section) section {
	for sel.Offset > 1 && at.isKnown() && bytes.Compare(at.end, r.limit) < 0 {
		if at.kind == pair { // also an own CompareAndClear that leaves no value: the client counts it
			sel.Offset--
		}
		at = r.sectionAfter(&at)
		sel.Key = at.begin
	}
	for sel.Offset < 1 && at.isKnown() && len(at.begin) > 0 {
		if at.kind == pair {
			if sel.Offset++; sel.Offset == 1 {
				sel.Key = at.begin
				break
			}
		}
		at = r.sectionBefore(&at)
		sel.Key = at.end
	}
	return at
}

// resolveSelector resolves a selector by a read of its own and notes whether it ran
// off an end. The walk goes on from what that read has told, even in transactions
// with a size that no caller can ask for.
func (r *rangeRead) resolveSelector(sel kv.KeySelector) ([]byte, error) {
	r.run = storedRun{}
	r.clipResult()
	key, err := r.resolveKey(sel)
	if err != nil {
		return nil, err
	}
	if r.unmeasured {
		r.addKnownSelector(sel, key)
	}
	r.around = kv.KeyRange{}
	r.res.toBegin = r.res.toBegin || len(key) == 0
	r.res.toEnd = r.res.toEnd || bytes.Equal(key, r.limit)
	return key, nil
}

// takePair adds a pair to the result, or counts it where the limits are reached.
func (r *rangeRead) takePair(g *section) {
	value := r.sectionValue(g)
	switch {
	case value == nil:
	case r.left.Reached():
		r.past++
	default:
		if len(r.run.pairs) > 0 {
			r.clipResult()
		}
		r.makeRoom()
		r.res.kvs = append(r.res.kvs, kv.KeyValue{Key: slices.Clip(g.begin), Value: slices.Clip(value)})
		r.left.Count(len(g.begin) + len(value))
	}
}

// clipResult clips the result, so that its memory holds nothing after it.
func (r *rangeRead) clipResult() {
	if r.whole != nil {
		r.res.kvs, r.whole = slices.Clip(r.res.kvs), nil
	}
}

// maxIdleRequests is how many requests in a row may begin at the same section, before
// the read takes all keys for known. A request asks for more each time, so that none
// of FoundationDB's client needs as many: the bound keeps a fault from looping.
const maxIdleRequests = 32

// requestMore asks for what comes next.
func (r *rangeRead) requestMore(begin, end kv.KeySelector, l reads.Limits, back bool) {
	r.requests++
	if r.at.equals(&r.asked) {
		r.idle++
	} else {
		r.asked, r.idle = r.at, 0
	}
	if r.idle > maxIdleRequests {
		r.addKnown([]byte{}, keys.SystemEnd)
		return
	}
	r.makeRoom()
	r.setWhole(r.overlay.sendRequest(begin, end, l, back, r.res.kvs))
}

// makeRoom makes the first room for the result: for what is read, and for a pair
// before and one after that, which may be own ones.
func (r *rangeRead) makeRoom() {
	if r.res.kvs == nil {
		r.res.kvs = make([]kv.KeyValue, 0, r.lastSize.Rows(r.left.Rows)+2)
	}
}

// setWhole notes that whole has the result in front of the pairs of run.
func (r *rangeRead) setWhole(whole []kv.KeyValue) { r.res.kvs, r.whole = whole[:len(r.res.kvs)], whole }

// singlesToSkip returns how many single keys that are known to be absent the next
// request reads again, rather than ending before them: none at first, then twice as
// many each time, as in the client.
func (r *rangeRead) singlesToSkip() int {
	if r.requests == 0 {
		return 0
	}
	return 1 << min(r.requests, 20)
}

// farthest is how many sections a request may pass in addition to those.
const farthest = 100

// isWider reports whether more than one key lies between two edges of a walk.
func isWider(from, to []byte, back bool) bool {
	if back {
		from, to = to, from
	}
	return !keys.IsSuccessor(to, from)
}

// countSingles counts the single keys known to be absent from g on, at most so many,
// up to the first wider gap (ReadYourWrites: countUncached).
func (r *rangeRead) countSingles(g section, most int, back bool) (singles int) {
	edge := g.farEdge(!back)
	for singles < most && r.hasKeysAfter(g.farEdge(back), back) {
		switch g.kind {
		case unreadableKeys:
			return singles
		case empty:
			if isWider(edge, g.farEdge(back), back) {
				return singles
			}
			singles++
		default:
			edge = g.farEdge(back)
		}
		g = r.nextSection(&g, back)
	}
	return singles
}

// hasKeysAfter reports whether there are keys after edge.
func (r *rangeRead) hasKeysAfter(edge []byte, back bool) bool {
	if back {
		return len(edge) > 0
	}
	return bytes.Compare(edge, r.limit) < 0
}

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

// pairsFrom returns the pairs from edge on, in the order of the walk.
func (r *storedRun) pairsFrom(edge []byte) []kv.KeyValue {
	at := sort.Search(len(r.pairs), func(i int) bool {
		c := bytes.Compare(r.pairs[i].Key, edge)
		return r.back && c < 0 || !r.back && c >= 0
	})
	return r.pairs[at:]
}

// mergeForward goes over known keys from r.at on, and reports whether it passed any.
func (r *rangeRead) mergeForward() bool {
	m, ok := r.prepareMerge(false)
	if !ok {
		return false
	}
	if r.writes != nil {
		m.own.SeekFloor(r.writes.sortedEntries(), m.edge)
	}
	if m.mergeForward(); !m.moved {
		return false
	}
	if m.after {
		m.edge = keys.SharedSuccessor(m.edge)
	}
	r.run.pairs, r.run.keys.Begin = m.stored, m.edge
	r.at = r.sectionAfter(&section{end: m.edge})
	return true
}

// mergeBackward goes back over known keys from r.at, and reports whether it passed
// any.
func (r *rangeRead) mergeBackward() bool {
	m, ok := r.prepareMerge(true)
	if !ok {
		return false
	}
	if r.writes != nil {
		m.own.SeekBelow(r.writes.sortedEntries(), m.edge)
	}
	if m.mergeBackward(); !m.moved {
		return false
	}
	r.run.pairs, r.run.keys.End = m.stored, m.edge
	r.at = r.sectionBefore(&section{begin: m.edge})
	return true
}

// prepareMerge prepares a merge from r.at up to the goal. It reports whether there is
// anything to merge.
func (r *rangeRead) prepareMerge(back bool) (m mergeWalk, ok bool) {
	m = mergeWalk{rangeRead: r, edge: r.at.farEdge(!back)}
	if r.left.Reached() || r.err != nil {
		return m, false
	}
	if back {
		m.bound = r.goal.end
	} else {
		m.bound = r.goal.begin
	}
	if !m.isAhead(m.bound, back) || !r.knownAround(m.edge, back) {
		return m, false
	}
	if back {
		m.bound = keys.Max(m.bound, r.around.Begin)
	} else {
		m.bound = keys.Min(m.bound, r.around.End)
	}
	if !r.ensureRun(m.edge, m.bound, back) {
		return m, false
	}
	if back {
		m.bound = keys.Max(m.bound, r.run.keys.Begin)
	} else {
		m.bound = keys.Min(m.bound, r.run.keys.End)
	}
	m.stored = r.run.pairsFrom(m.edge)
	return m, m.isAhead(m.bound, back)
}

// ensureRun sees to it that the run holds the stored pairs next to edge, which is
// known. One that was read for a request mostly does. Else it is read, up to
// bound, unless there is room for one key only.
func (r *rangeRead) ensureRun(edge, bound []byte, back bool) bool {
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
	g := r.startBatch(r.left, r.res.kvs)
	g.SetPairCost(reads.ClientPairCost) // no server is asked for what is known
	if r.left.Bytes == 0 {
		g.SetLimits(replyLimits(r.left))
	}
	if full := r.collectStored(missing.Begin, missing.End, back); full && back {
		missing.Begin = g.LastKey()
	} else if full {
		missing.End = keys.Successor(g.LastKey())
	}
	r.setWhole(r.finishBatch())
	r.run = storedRun{keys: missing, pairs: r.whole[len(r.res.kvs):], back: back}
	return r.err == nil
}
