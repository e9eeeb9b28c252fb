// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"sort"

	"github.com/kazahana-db/kazahana/kv"
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
	g.SetPairCost(rangeread.ClientPairCost) // no server is asked for what is known
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
