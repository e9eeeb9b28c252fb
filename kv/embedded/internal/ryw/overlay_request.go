// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// fetch asks the database as FoundationDB's client does, for the pairs between
// two selectors, and makes known what the answer tells. The walk takes its pairs
// from the answer when it comes to them. fetch returns the pairs of front, which it
// takes over, and behind them those of the answer.
func (s *overlay) fetch(begin, end kv.KeySelector, l rangeread.Limits, reverse bool, front []kv.KeyValue) []kv.KeyValue {
	f := s.ask(begin, end, l, reverse, front)
	low, high := keys.SystemEnd, []byte{}
	if begin.Offset <= 1 && !(reverse && f.more) {
		low = begin.Key
	}
	if end.Offset >= 1 && (reverse || !f.more) {
		high = end.Key
	}
	if f.toBegin {
		low = []byte{}
	}
	if f.toEnd {
		high = keys.SystemEnd
	}
	if f.low != nil {
		low = keys.Min(low, f.low)
		high = keys.Max(high, keys.Successor(f.high))
	}
	if reverse && f.more && f.low != nil {
		low = f.low // even where the begin is the beginning of all keys
	}
	s.learn(low, high)
	s.run = storedRun{keys: kv.KeyRange{Begin: low, End: keys.Min(high, s.limit)}, pairs: f.pairs[len(front):], back: reverse}
	return f.pairs
}

// ask answers a request, behind the pairs of front.
func (s *overlay) ask(begin, end kv.KeySelector, l rangeread.Limits, reverse bool, front []kv.KeyValue) serverReply {
	f := serverReply{pairs: front, toBegin: len(begin.Key) == 0 && begin.Offset < 1}
	b, e := s.locate(begin), s.locate(end)
	if b.beyond >= e.beyond && bytes.Compare(b.key, e.key) >= 0 {
		return f
	}
	a := serverRequest{overlay: s, left: l, begin: b.key, end: e.key, whole: b.toBegin || e.toBegin || b.beyond > 0 || e.beyond > 0}
	a.batch.Start(l, s.lastSize, front)
	if e.beyond > 0 && !bytes.Equal(s.limit, keys.SystemEnd) {
		a.strange = e.beyond - max(b.beyond, 1)
	}
	a.run(&f, reverse)
	if f.pairs = a.batch.Finish(s.lastSize); len(f.pairs) > len(front) {
		f.note(f.pairs[len(front)].Key)
		f.note(f.pairs[len(f.pairs)-1].Key)
	}
	if a.whole && len(b.key) == 0 && !(reverse && f.more) {
		f.toBegin = true
	}
	f.toEnd = bytes.Equal(e.key, keys.SystemEnd) && (reverse || !f.more)
	return f
}
