// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// sendRequest asks the database for the pairs between two selectors as FoundationDB's
// client asks its servers, and makes known what the answer tells (ReadYourWrites:
// getKnownKeyRange). The walk takes its pairs from run. sendRequest takes over front,
// and returns its pairs with those of the answer behind them.
func (s *overlay) sendRequest(begin, end kv.KeySelector, l rangeread.Limits, reverse bool, front []kv.KeyValue) []kv.KeyValue {
	f := s.answerRequest(begin, end, l, reverse, front)
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
		low = f.low // also where begin is the beginning of all keys, which the client could know
	}
	s.addKnown(low, high)
	s.run = storedRun{keys: kv.KeyRange{Begin: low, End: keys.Min(high, s.limit)}, pairs: f.pairs[len(front):], back: reverse}
	return f.pairs
}

// answerRequest answers a request, behind the pairs of front.
func (s *overlay) answerRequest(begin, end kv.KeySelector, l rangeread.Limits, reverse bool, front []kv.KeyValue) serverReply {
	f := serverReply{pairs: front, toBegin: len(begin.Key) == 0 && begin.Offset < 1}
	b, e := s.locateSelector(begin), s.locateSelector(end)
	if b.beyond >= e.beyond && bytes.Compare(b.key, e.key) >= 0 {
		return f
	}
	a := serverRequest{overlay: s, begin: b.key, end: e.key, whole: b.toBegin || e.toBegin || b.beyond > 0 || e.beyond > 0}
	s.startBatch(l, front).CountAlso(l)
	if e.beyond > 0 && !bytes.Equal(s.limit, keys.SystemEnd) {
		a.systemKeys = e.beyond - max(b.beyond, 1)
	}
	a.readReplies(&f, reverse)
	if f.pairs = s.finishBatch(); len(f.pairs) > len(front) {
		f.noteKey(f.pairs[len(front)].Key)
		f.noteKey(f.pairs[len(f.pairs)-1].Key)
	}
	if a.whole && len(b.key) == 0 && !(reverse && f.more) {
		f.toBegin = true
	}
	f.toEnd = bytes.Equal(e.key, keys.SystemEnd) && (reverse || !f.more)
	return f
}
