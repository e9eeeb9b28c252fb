// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// rangeResult is the answer to a range read, with what its conflict range
// depends on.
type rangeResult struct {
	kvs     []kv.KeyValue
	more    bool // a limit was reached
	toBegin bool // a selector ran off the beginning of all keys
	toEnd   bool // a selector ran off the end
}

// readRange reads one batch. Its selectors have no OrEqual.
func (s *overlay) readRange(req kv.BatchRequest) (rangeResult, error) {
	l := reads.Limits{Rows: req.Limit, Bytes: batchBytes(req.Mode, req.Iteration), Least: 1}
	if l.Rows == 0 {
		l.Rows = reads.Unlimited
	}
	switch {
	case s.rywDisabled:
		return s.readStored(req, l), nil
	case s.isUntouched(req.SelectorRange):
		s.unshared = true
		res := s.readPairs(req.Begin.Key, req.End.Key, l, req.Reverse)
		s.addKnownPairs(req, &res)
		return res, nil
	}
	return s.walkRange(req.SelectorRange, l, req.Reverse)
}

// walkRange reads a batch over own writes and known keys.
func (s *overlay) walkRange(keys kv.SelectorRange, l reads.Limits, reverse bool) (res rangeResult, err error) {
	r := rangeRead{overlay: *s, begin: keys.Begin, end: keys.End, left: l} // by value: other reads need no overlay on the heap
	if reverse {
		res, err = r.readBackward()
	} else {
		res, err = r.readForward()
	}
	*s = r.overlay
	res.kvs = slices.Clip(reads.Trim(res.kvs))
	return res, err
}

// iteratorBytes is how much the batches of ModeIterator hold (iteration_progression in
// fdb_c.cpp).
var iteratorBytes = [...]int{4096, 6144, 9216, 13_824, 20_736, 31_104, 46_656, 69_984, 80_000, 120_000}

// batchBytes returns how much a batch holds, by FoundationDB's table.
func batchBytes(mode kv.StreamingMode, iteration int) int {
	switch mode {
	case kv.ModeExact:
		return reads.Unlimited
	case kv.ModeSmall:
		return 256
	case kv.ModeMedium:
		return 1000
	case kv.ModeLarge:
		return 4096
	case kv.ModeIterator:
		return iteratorBytes[min(max(iteration, 1), len(iteratorBytes))-1]
	}
	return reads.ReplyBytes
}

// isUntouched reports whether a range is one between two keys in which there are
// neither own writes nor keys known before. Then one request fetches the batch.
func (s *overlay) isUntouched(r kv.SelectorRange) bool {
	if r.Begin.Offset != 1 || r.End.Offset != 1 || bytes.Compare(r.Begin.Key, r.End.Key) >= 0 {
		return false
	}
	if s.writes != nil && !s.writes.missesRange(r.Begin.Key, r.End.Key) {
		own := s.ownAround(r.Begin.Key, false)
		if own.operated != nil || own.gap.cleared || own.gap.unreadable || bytes.Compare(own.keys.End, r.End.Key) < 0 {
			return false
		}
	}
	return !s.known.overlaps(kv.KeyRange{Begin: r.Begin.Key, End: r.End.Key})
}

// readPairs reads the stored pairs of [begin, end) within the limits of a server.
func (s *overlay) readPairs(begin, end []byte, l reads.Limits, reverse bool) (res rangeResult) {
	if s.fixView(); s.err != nil {
		return rangeResult{}
	}
	s.startBatch(l, nil)
	res.more = s.collectStored(begin, end, reverse)
	res.kvs = s.finishBatch()
	return res
}

// addKnownPairs makes known what a read of an untouched range has told.
func (s *overlay) addKnownPairs(req kv.BatchRequest, res *rangeResult) {
	if s.unmeasured || s.err != nil {
		return
	}
	begin, end := req.Begin.Key, req.End.Key
	if last := len(res.kvs) - 1; res.more && req.Reverse {
		begin = res.kvs[last].Key
	} else if res.more {
		end = keys.Successor(res.kvs[last].Key)
	}
	s.newlyKnown = append(s.newlyKnown, kv.KeyRange{Begin: begin, End: end})
	if s.forked {
		s.known.add(kv.KeyRange{Begin: begin, End: end})
	}
}

// readStored reads a batch past own writes, where read-your-writes is disabled.
func (s *overlay) readStored(req kv.BatchRequest, l reads.Limits) rangeResult {
	b, e := s.locateSelector(req.Begin), s.locateSelector(req.End)
	if b.beyond >= e.beyond && bytes.Compare(b.key, e.key) >= 0 {
		return rangeResult{}
	}
	var res rangeResult
	if bytes.Compare(b.key, e.key) < 0 { // else it begins among the system keys and ends before them
		res = s.readPairs(b.key, e.key, l, req.Reverse)
	}
	// FoundationDB's client knows the empty key for the beginning without reading
	// as far as there.
	atOnce := len(req.Begin.Key) == 0 && req.Begin.Offset < 1
	res.toBegin = (b.toBegin || e.toBegin) && (atOnce || !(req.Reverse && res.more))
	res.toEnd = (b.beyond > 0 || e.beyond > 0) && (req.Reverse || !res.more)
	return res
}

// resolveKey returns the key that a selector selects.
func (s *overlay) resolveKey(sel kv.KeySelector) ([]byte, error) {
	sel = plain(sel)
	if s.rywDisabled {
		return s.locateKey(sel), nil
	}
	if s.writes == nil && s.known.empty() {
		s.unshared = true
		switch { // what the ends alone tell
		case sel.Offset > 0 && bytes.Compare(sel.Key, s.limit) >= 0:
			return s.limit, nil
		case sel.Offset <= 0 && len(sel.Key) == 0:
			return []byte{}, nil
		}
		key := s.locateKey(sel)
		if !s.unmeasured {
			s.addKnownSelector(sel, key)
		}
		return key, nil
	}
	one := reads.Limits{Rows: 1, Bytes: reads.Unlimited, Least: 1}
	if sel.Offset > 0 {
		return s.firstKeyOf(s.walkRange(kv.SelectorRange{Begin: sel, End: kv.FirstGreaterOrEqual(s.limit)}, one, false))
	}
	sel.Offset++
	return s.lastKeyOf(s.walkRange(kv.SelectorRange{Begin: kv.FirstGreaterOrEqual([]byte{}), End: sel}, one, true))
}

// firstKeyOf returns the key of a forward read for one pair.
func (s *overlay) firstKeyOf(res rangeResult, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case res.toBegin:
		return []byte{}, nil
	case res.toEnd || len(res.kvs) == 0:
		return s.limit, nil
	}
	return res.kvs[0].Key, nil
}

// lastKeyOf returns the key of a backward read for one pair.
func (s *overlay) lastKeyOf(res rangeResult, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case res.toEnd:
		return s.limit, nil
	case res.toBegin || len(res.kvs) == 0:
		return []byte{}, nil
	}
	return res.kvs[0].Key, nil
}

// addKnownSelector makes known what resolving a selector by one request has told.
func (s *overlay) addKnownSelector(sel kv.KeySelector, key []byte) {
	if sel.Offset > 0 {
		s.addKnown(sel.Key, keys.Min(keys.Successor(key), s.limit))
	} else {
		s.addKnown(key, sel.Key)
	}
}

// batchRead is a batch that was read, with what its conflict ranges depend on.
type batchRead struct {
	rangeResult
	req   kv.BatchRequest // as it was made
	first *selectorRead   // the end that was read before; nil: none was
	none  bool            // that has told that there is nothing between
}

// selectorRead is a selector that was read.
type selectorRead struct {
	sel    kv.KeySelector
	key    []byte
	beyond int
}

// readBatch reads a batch of a range. Where read-your-writes is disabled
// FoundationDB's client reads the end of a backward range as a key of its own.
func (s *overlay) readBatch(req kv.BatchRequest) (b batchRead, err error) {
	if s.rywDisabled && req.Reverse && req.End.Offset > 1 {
		key, err := s.resolveKey(req.End)
		if err != nil {
			return b, err
		}
		b.first = &selectorRead{req.End, key, s.beyond}
		req.End = kv.FirstGreaterOrEqual(key)
		if b.none = nothingBetween(req.Begin, req.End); b.none {
			return b, nil
		}
	}
	b.req = req
	b.rangeResult, err = s.readRange(req)
	return b, err
}

// locateKey returns the key that a selector selects among what is stored.
func (s *overlay) locateKey(sel kv.KeySelector) []byte {
	at := s.locateSelector(sel)
	if sel.Offset > 0 && at.beyond == 0 {
		first, ok := s.seek(at.key)
		if at.key = first.Key; !ok || bytes.Compare(first.Key, s.limit) >= 0 {
			at = selectorPlace{key: s.limit, beyond: 1}
		}
	}
	s.beyond = at.beyond
	return at.key
}

// selectorPlace is where a selector leads among what the database holds.
type selectorPlace struct {
	key     []byte
	toBegin bool // it ran off the beginning
	beyond  int  // which key after all that can be read it selects, the first being 1; 0: none
}

// locateSelector walks a selector without OrEqual over stored keys. One with offset 1
// stays where it is.
func (s *overlay) locateSelector(sel kv.KeySelector) selectorPlace {
	at, offset := selectorPlace{key: sel.Key}, sel.Offset
	if offset == 1 {
		return at
	}
	for ; offset > 1; offset-- {
		key, ok := s.seekOrNext(at.key, offset < sel.Offset)
		if !ok || bytes.Compare(key, s.limit) >= 0 {
			return selectorPlace{key: s.limit, beyond: offset}
		}
		at.key = keys.Successor(key)
	}
	for ; offset < 1; offset++ {
		found, ok := s.seekBelow(at.key)
		if !ok || len(found.Key) == 0 {
			return selectorPlace{key: []byte{}, toBegin: true}
		}
		at.key = found.Key
	}
	return at
}

// seekOrNext moves to the first stored key from edge on, or to the next one.
func (s *overlay) seekOrNext(edge []byte, next bool) (key []byte, ok bool) {
	scan := s.storedScan()
	if s.below = (kv.KeyValue{}); next {
		key, _, ok = scan.Next()
	} else {
		key, _, ok = scan.Seek(edge)
	}
	return key, ok
}

// seek moves to the first stored pair from a key on.
func (s *overlay) seek(from []byte) (kv.KeyValue, bool) {
	s.below = kv.KeyValue{}
	key, value, ok := s.storedScan().Seek(from)
	return kv.KeyValue{Key: key, Value: value}, ok
}

// seekBelow moves to the last stored pair below a key, unless it is there already.
func (s *overlay) seekBelow(end []byte) (kv.KeyValue, bool) {
	if s.below.Key != nil && keys.IsSuccessor(end, s.below.Key) {
		return s.below, true
	}
	key, value, ok := s.storedScan().SeekBelow(end)
	if s.below = (kv.KeyValue{}); ok {
		s.below = kv.KeyValue{Key: key, Value: value}
	}
	return s.below, ok
}

// sendRequest asks the database for the pairs between two selectors as FoundationDB's
// client asks its servers, and makes known what the answer tells (ReadYourWrites:
// getKnownKeyRange). The walk takes its pairs from run. sendRequest takes over front,
// and returns its pairs followed by those of the answer.
func (s *overlay) sendRequest(begin, end kv.KeySelector, l reads.Limits, reverse bool, front []kv.KeyValue) []kv.KeyValue {
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

// answerRequest answers a request; its pairs follow those of front.
func (s *overlay) answerRequest(begin, end kv.KeySelector, l reads.Limits, reverse bool, front []kv.KeyValue) serverReply {
	f := serverReply{pairs: front, toBegin: len(begin.Key) == 0 && begin.Offset < 1}
	b, e := s.locateSelector(begin), s.locateSelector(end)
	if b.beyond >= e.beyond && bytes.Compare(b.key, e.key) >= 0 {
		return f
	}
	a := serverRequest{overlay: s, begin: b.key, end: e.key, whole: b.toBegin || e.toBegin || b.beyond > 0 || e.beyond > 0}
	s.startBatch(l, front).CountAlso(l)
	if e.beyond > 0 && !bytes.Equal(s.limit, keys.SystemEnd) {
		a.systemBegin, a.systemEnd = max(b.beyond, 1), e.beyond
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
