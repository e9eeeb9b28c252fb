// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// rangeRead is a range read under way over own writes and known keys. It goes as
// FoundationDB's client does (getRangeValue and getRangeValueBack in its
// ReadYourWrites), request by request, because that shows: in how many batches
// a range takes, in where selectors that cross or run off the ends lead, and in
// which keys that await their versionstamp are met at all.
type rangeRead struct {
	overlay
	begin, end kv.KeySelector // come as far as what is known leads
	askedBegin int            // the offset of begin, or what was left of it at the end of all keys
	askedEnd   int
	at         section // where the read is
	goal       section // where it ends, as far as known
	left       rangeread.Limits
	past       int // pairs met behind the limits, which a selector still counts
	requests   int
	asked      section // where the last request began
	idle       int     // how many requests in a row began there
	res        rangeResult
	whole      []kv.KeyValue // what res has so far and behind it, perhaps after a gap, the pairs of run; nil: res is on its own
}

// nothing is the result of a range that is empty whatever the database holds.
func (r *rangeRead) nothing() (rangeResult, error) { return rangeResult{}, nil }

// edges is the result of a range that ran off an end.
func (r *rangeRead) edges() (rangeResult, error) {
	return rangeResult{toBegin: r.res.toBegin, toEnd: r.res.toEnd}, nil
}

// crossed reports whether the selectors leave nothing between them.
func (r *rangeRead) crossed() bool {
	return r.askedBegin >= r.askedEnd && bytes.Compare(r.begin.Key, r.end.Key) >= 0
}

// offEnd reports whether the range begins behind all keys or ends before them.
func (r *rangeRead) offEnd() bool {
	return r.begin.Offset == 1 && bytes.Equal(r.begin.Key, r.limit) || r.end.Offset == 1 && len(r.end.Key) == 0
}

// narrow moves a selector as far as known keys and own writes lead, and returns
// the section that it has come to. asked gets its offset there.
func (r *rangeRead) narrow(sel *kv.KeySelector, asked *int) section {
	counts := sel.Offset != 1
	at := r.overlay.at(sel.Key)
	if sel.Offset <= 0 && len(sel.Key) > 0 && bytes.Equal(at.begin, sel.Key) {
		at = r.before(&at)
	}
	at = r.count(sel, at)
	if counts {
		*asked = sel.Offset
	}
	switch {
	case !at.told():
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
		at = r.after(&at)
		sel.Key = at.begin
	}
	return at
}

// count brings a selector's offset nearer to 1 by the pairs on its way.
func (r *rangeRead) count(sel *kv.KeySelector, at section) section {
	for sel.Offset > 1 && at.told() && bytes.Compare(at.end, r.limit) < 0 {
		if at.kind == pair {
			sel.Offset--
		}
		at = r.after(&at)
		sel.Key = at.begin
	}
	for sel.Offset < 1 && at.told() && len(at.begin) > 0 {
		if at.kind == pair {
			if sel.Offset++; sel.Offset == 1 {
				sel.Key = at.begin
				break
			}
		}
		at = r.before(&at)
		sel.Key = at.end
	}
	return at
}

// settle resolves a selector on its own and notes whether it ran off an end. The
// walk goes on from what that has told, also where nobody can ask for sizes.
func (r *rangeRead) settle(sel kv.KeySelector) ([]byte, error) {
	r.run = storedRun{}
	r.part()
	key, err := r.resolveKey(sel)
	if err != nil {
		return nil, err
	}
	if r.unmeasured {
		r.learnKey(sel, key)
	}
	r.about = kv.KeyRange{}
	r.res.toBegin = r.res.toBegin || len(key) == 0
	r.res.toEnd = r.res.toEnd || bytes.Equal(key, r.limit)
	return key, nil
}

// take adds a pair to the result, or counts it where the limits are reached.
func (r *rangeRead) take(g *section) {
	value := r.value(g)
	switch {
	case value == nil:
	case r.left.Reached():
		r.past++
	default:
		if len(r.run.pairs) > 0 {
			r.part()
		}
		r.makeRoom()
		r.res.kvs = append(r.res.kvs, kv.KeyValue{Key: slices.Clip(g.begin), Value: slices.Clip(value)})
		r.left.Count(len(g.begin) + len(value))
	}
}

// part makes the result one whose memory holds nothing behind it.
func (r *rangeRead) part() {
	if r.whole != nil {
		r.res.kvs, r.whole = slices.Clip(r.res.kvs), nil
	}
}

// patience is how many requests in a row may tell nothing new, before all is
// taken for known. A request asks for more each time, so that none of
// FoundationDB's ever needs as many; this bounds the cost of an error.
const patience = 32

// fetch asks for what comes next.
func (r *rangeRead) fetch(begin, end kv.KeySelector, l rangeread.Limits, back bool) {
	r.requests++
	if r.at.is(&r.asked) {
		r.idle++
	} else {
		r.asked, r.idle = r.at, 0
	}
	if r.idle > patience {
		r.learn([]byte{}, keys.SystemEnd)
		return
	}
	r.makeRoom()
	r.place(r.overlay.fetch(begin, end, l, back, r.res.kvs))
}

// makeRoom makes the first room for the result: for what is read, and for a pair
// before and one behind that, which may be own ones.
func (r *rangeRead) makeRoom() {
	if r.res.kvs == nil {
		r.res.kvs = make([]kv.KeyValue, 0, r.lastSize.Rows(r.left.Rows)+2)
	}
}

// place notes that whole has the result in front of the pairs of run.
func (r *rangeRead) place(whole []kv.KeyValue) { r.res.kvs, r.whole = whole[:len(r.res.kvs)], whole }

// skips returns how many keys cleared one by one the next request passes: none
// at first, then ever more.
func (r *rangeRead) skips() int {
	if r.requests == 0 {
		return 0
	}
	return 1 << min(r.requests, 20)
}

// farthest is how many sections a request may pass beside those.
const farthest = 100

// wider reports whether more than one key lies between two edges of a walk.
func wider(from, to []byte, back bool) bool {
	if back {
		from, to = to, from
	}
	return !keys.IsSuccessor(to, from)
}

// countSingles counts the single keys known to be absent from g on, at most so
// many, up to the first wider gap.
func (r *rangeRead) countSingles(g section, most int, back bool) (singles int) {
	edge := g.far(!back)
	for singles < most && r.inside(g.far(back), back) {
		switch g.kind {
		case veiled:
			return singles
		case empty:
			if wider(edge, g.far(back), back) {
				return singles
			}
			singles++
		default:
			edge = g.far(back)
		}
		g = r.step(&g, back)
	}
	return singles
}

// inside reports whether there are keys behind edge.
func (r *rangeRead) inside(edge []byte, back bool) bool {
	if back {
		return len(edge) > 0
	}
	return bytes.Compare(edge, r.limit) < 0
}
