// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// requestLimits returns the limits of the request that follows so many others:
// enough for extra rows that will not be among the result, and for as many as a
// selector counts.
func requestLimits(l rangeread.Limits, extra, counted, requests int) rangeread.Limits {
	l.Least = max(1+extra, counted)
	enough := max(max(1, l.Rows)+extra, counted)
	if l.Rows != rangeread.Unlimited {
		l.Rows = enough
	}
	switch {
	case l.Bytes == 0:
		l.Rows, l.Bytes = enough, rangeread.Unlimited
	case l.Bytes != rangeread.Unlimited:
		l.Bytes = min(l.Bytes<<min(requests, 20), rangeread.ReplyBytes)
	}
	return l
}

// located is where a selector leads among what the database holds.
type located struct {
	key     []byte
	toBegin bool // it ran off the beginning
	beyond  int  // which key behind all that can be read it selects, the first being 1; 0: none
}

// locate walks a selector without OrEqual over stored keys. One with offset 1
// stays where it is.
func (s *stretch) locate(sel kv.KeySelector) located {
	at, offset := located{key: sel.Key}, sel.Offset
	if offset == 1 {
		return at
	}
	for ; offset > 1; offset-- {
		key, ok := s.seekOrNext(at.key, offset < sel.Offset)
		if !ok || bytes.Compare(key, s.limit) >= 0 {
			return located{key: s.limit, beyond: offset}
		}
		at.key = keys.Successor(key)
	}
	for ; offset < 1; offset++ {
		found, ok := s.seekBelow(at.key)
		if !ok || len(found.Key) == 0 {
			return located{key: []byte{}, toBegin: true}
		}
		at.key = found.Key
	}
	return at
}

// seekOrNext moves to the first stored key from edge on, or to the next one.
func (s *stretch) seekOrNext(edge []byte, next bool) (key []byte, ok bool) {
	scan := s.stored()
	if s.below = (kv.KeyValue{}); next {
		key, _, ok = scan.Next()
	} else {
		key, _, ok = scan.Seek(edge)
	}
	return key, ok
}

// seek moves to the first stored pair from a key on.
func (s *stretch) seek(from []byte) (kv.KeyValue, bool) {
	s.below = kv.KeyValue{}
	key, value, ok := s.stored().Seek(from)
	return kv.KeyValue{Key: key, Value: value}, ok
}

// seekBelow moves to the last stored pair below a key, unless it is there already.
func (s *stretch) seekBelow(end []byte) (kv.KeyValue, bool) {
	if s.below.Key != nil && keys.IsSuccessor(end, s.below.Key) {
		return s.below, true
	}
	key, value, ok := s.stored().SeekBelow(end)
	if s.below = (kv.KeyValue{}); ok {
		s.below = kv.KeyValue{Key: key, Value: value}
	}
	return s.below, ok
}

// fetched is what a request to the storage servers tells.
type fetched struct {
	pairs     []kv.KeyValue // in the order in which they were asked for, behind those that were there before
	low, high []byte        // of the pairs; nil: there are none
	more      bool
	toBegin   bool
	toEnd     bool
}

// fetch asks the database as FoundationDB's client does, for the pairs between
// two selectors, and makes known what the answer tells. The walk takes its pairs
// from the answer when it comes to them. fetch returns the pairs of front, which it
// takes over, and behind them those of the answer.
func (s *stretch) fetch(begin, end kv.KeySelector, l rangeread.Limits, reverse bool, front []kv.KeyValue) []kv.KeyValue {
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
func (s *stretch) ask(begin, end kv.KeySelector, l rangeread.Limits, reverse bool, front []kv.KeyValue) fetched {
	f := fetched{pairs: front, toBegin: len(begin.Key) == 0 && begin.Offset < 1}
	b, e := s.locate(begin), s.locate(end)
	if b.beyond >= e.beyond && bytes.Compare(b.key, e.key) >= 0 {
		return f
	}
	a := answering{stretch: s, left: l, begin: b.key, end: e.key, whole: b.toBegin || e.toBegin || b.beyond > 0 || e.beyond > 0}
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

// answering is an answer in the making.
type answering struct {
	stretch    *stretch
	batch      rangeread.Builder
	left       rangeread.Limits
	begin, end []byte
	whole      bool // a selector left the keys of its server
	strange    int  // keys of the system behind those that can be read, which FoundationDB counts and leaves out
}

// strangeKey stands for the keys of the system, which begin with it, and
// strangePair is about the size of their pairs.
var strangeKey = []byte("\xff\x02")

const strangePair = 64

// run reads pairs until the limits are reached or there are no more. A reply that
// was cut off is all there is to an answer that is limited in bytes. Where a
// selector left the keys of its server, FoundationDB's client asks for what lies
// between the resolved keys, and so knows that nothing is left when a reply that
// was cut off has come to the end of that.
func (a *answering) run(f *fetched, reverse bool) {
	a.batch.CountAlso(&a.left)
	for {
		f.more = a.reply(f, reverse)
		switch satisfied := a.left.Bytes != rangeread.Unlimited && a.left.Least == 0; {
		case a.left.Reached():
			f.more = true
			return
		case f.more && a.whole && a.strange == 0 && bytes.Compare(a.begin, a.end) >= 0:
			f.more = false
			return
		case !f.more || satisfied || a.stretch.err != nil:
			return
		}
	}
}

// replyLimits returns how much a server is asked to send at a time. Once the bytes
// are used up it is asked for the rows that are still missing, whatever their size.
func replyLimits(l rangeread.Limits) (rows, size int) {
	rows, size = rangeread.ReplyBytes, rangeread.ReplyBytes
	switch {
	case l.Bytes == 0:
		return l.Least, size
	case l.Bytes != rangeread.Unlimited:
		size = min(size, l.Bytes)
	}
	if l.Rows != rangeread.Unlimited {
		rows = min(rows, l.Rows)
	}
	return rows, size
}

// reply reads as much as a server sends at a time and reports whether that was
// cut off.
func (a *answering) reply(f *fetched, reverse bool) (cut bool) {
	g := &a.batch
	rows, size := replyLimits(a.left)
	if g.SetLimits(rows, size); rows <= 0 || size <= 0 {
		return true
	}
	if reverse && a.replyStrange(f) {
		return true
	}
	before := g.Len()
	full := bytes.Compare(a.begin, a.end) < 0 && a.stretch.gather(a.begin, a.end, g, reverse)
	if g.Len() > before && reverse {
		a.end = g.LastKey()
	} else if g.Len() > before {
		a.begin = keys.Successor(g.LastKey())
	}
	if !full && !reverse {
		return a.replyStrange(f)
	}
	return full
}

// replyStrange counts keys of the system to the reply and reports whether that
// was cut off.
func (a *answering) replyStrange(f *fetched) (cut bool) {
	for a.strange > 0 {
		a.strange--
		f.note(strangeKey)
		if a.batch.Count(strangePair) {
			return true
		}
	}
	return false
}

// note adds a key to those that were answered.
func (f *fetched) note(key []byte) {
	f.low = minOf(f.low, key)
	f.high = keys.Max(f.high, key)
}

// minOf is minKey where a may be nil, which is no key.
func minOf(a, b []byte) []byte {
	if a == nil {
		return b
	}
	return keys.Min(a, b)
}
