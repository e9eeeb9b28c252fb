// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv"
)

// rangeResult is the answer to a range read, with what its conflict range
// depends on.
type rangeResult struct {
	kvs     []kv.KeyValue
	more    bool // a limit was reached
	toBegin bool // a selector ran off the beginning of all keys
	toEnd   bool // a selector ran off the end
	beyond  int  // how far the begin ran off it
}

// bounds limit a range read. Zero is no limit.
type bounds struct{ rows, bytes int }

// reached reports whether the pairs so far are enough.
func (b bounds) reached(rows, bytes int) bool {
	return b.rows > 0 && rows >= b.rows || b.bytes > 0 && bytes >= b.bytes
}

// readRange reads one batch. Its selectors have no OrEqual.
func (s *stretch) readRange(req kv.BatchRequest) (rangeResult, error) {
	b := bounds{rows: req.Limit, bytes: batchBytes(req.Mode, req.Iteration)}
	if req.Reverse {
		return s.descend(req.Begin, req.End, b)
	}
	return s.ascend(req.Begin, req.End, b)
}

// batchBytes returns how much a batch holds, by FoundationDB's table.
func batchBytes(mode kv.StreamingMode, iteration int) int {
	switch mode {
	case kv.ModeExact:
		return 0
	case kv.ModeSmall:
		return 256
	case kv.ModeMedium:
		return 1000
	case kv.ModeLarge:
		return 4096
	case kv.ModeIterator:
		size := 4096
		for ; iteration > 1 && size < 80_000; iteration-- {
			size += size / 2
		}
		return size
	}
	return 120_000
}

// blocked is the error of a walk that an unreadable key stops.
func blocked(key []byte) (rangeResult, error) { return rangeResult{}, unreadable(key) }

// ascend reads from begin to end. Where selectors run off the ends, cross, or
// meet keys that await their versionstamp, it decides as FoundationDB's client
// does once it has all the data.
func (s *stretch) ascend(begin, end kv.KeySelector, limit bounds) (rangeResult, error) {
	b, e := s.resolve(begin), s.resolve(end)
	res := rangeResult{toBegin: b.toBegin || e.toBegin, toEnd: b.toEnd || e.toEnd}
	if b.toEnd {
		res.beyond = b.asked
	}
	if end.Offset != 1 && bytes.Compare(begin.Key, end.Key) > 0 && e.done() {
		s.cross(&res, e.key)
	}
	crossed := bytes.Compare(b.key, e.key) >= 0
	switch {
	case b.asked >= e.asked && crossed:
		return rangeResult{beyond: res.beyond}, nil
	case b.done() && bytes.Equal(b.key, s.limit), e.done() && len(e.key) == 0:
		return res, nil
	case !e.done() && bytes.Compare(b.key, e.key) > 0:
		return blocked(e.key)
	case b.offset >= e.offset && crossed, b.offset >= 1 && bytes.Compare(b.key, s.limit) >= 0:
		return res, nil
	case !b.done():
		return blocked(b.key)
	}
	size, past := 0, 0
	from, to := b.key, s.limit
	if e.done() {
		to = e.key
	}
	for {
		full := limit.reached(len(res.kvs), size)
		if full && past >= 1-e.offset {
			res.more = true
			break
		}
		at := s.after(from, to)
		if at.kind == nowhere {
			res.more = full
			break
		}
		if at.kind == veiled {
			return blocked(at.key)
		}
		from = successor(at.key)
		switch {
		case at.value == nil:
		case full:
			past++
		default:
			res.kvs = append(res.kvs, kv.KeyValue{Key: at.key, Value: at.value})
			size += pairBytes(at)
		}
	}
	res.toEnd = res.toEnd && !res.more
	return res, nil
}

// descend reads from end back to begin.
func (s *stretch) descend(begin, end kv.KeySelector, limit bounds) (rangeResult, error) {
	e, b := s.resolve(end), s.resolve(begin)
	res := rangeResult{toBegin: b.toBegin || e.toBegin, toEnd: b.toEnd || e.toEnd}
	if begin.Offset != 1 && bytes.Compare(begin.Key, end.Key) > 0 && b.done() {
		s.cross(&res, b.key)
	}
	crossed := bytes.Compare(b.key, e.key) >= 0
	switch {
	case b.asked >= e.asked && crossed:
		return rangeResult{}, nil
	case b.done() && bytes.Equal(b.key, s.limit), e.done() && len(e.key) == 0:
		return res, nil
	case !b.done() && bytes.Compare(b.key, e.key) > 0:
		return blocked(b.key)
	case b.offset >= 1 && bytes.Compare(b.key, s.limit) >= 0:
		return res, nil
	case b.offset >= e.offset && crossed, e.offset <= 1 && len(e.key) == 0:
		return res, nil
	case !e.done():
		return blocked(e.key)
	}
	size, past := 0, 0
	from, low := e.key, []byte{}
	if b.done() {
		low = b.key
	}
	for {
		full := limit.reached(len(res.kvs), size)
		if full && past >= b.offset-1 {
			res.more = true
			break
		}
		at := s.before(from, low)
		if at.kind == nowhere {
			res.more = full
			break
		}
		if at.kind == veiled {
			return blocked(at.key)
		}
		from = at.key
		switch {
		case at.value == nil:
		case full:
			past++
		default:
			res.kvs = append(res.kvs, kv.KeyValue{Key: at.key, Value: at.value})
			size += pairBytes(at)
		}
	}
	res.toBegin = res.toBegin && !res.more
	return res, nil
}

// cross notes that selectors whose keys are in the wrong order may still make a
// range: FoundationDB's client resolves the far one by itself then, to the
// first or last key of all if no other is there.
func (s *stretch) cross(res *rangeResult, at []byte) {
	if s.after(at, s.limit).kind == nowhere {
		res.toEnd = true
	}
	if len(at) == 0 {
		res.toBegin = true
	}
}

// pairBytes is what a pair counts against the bytes of a batch.
func pairBytes(at place) int { return len(at.key) + len(at.value) + 24 }
