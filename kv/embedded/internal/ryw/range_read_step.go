// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
)

// readForward reads from begin to end (ReadYourWrites: getRangeValue).
func (r *rangeRead) readForward() (rangeResult, error) {
	r.askedBegin, r.askedEnd = r.begin.Offset, r.end.Offset
	r.narrowForward()
	if r.selectorsCrossed() {
		return r.emptyResult()
	}
	if r.offEnd() {
		return r.edgeResult()
	}
	if r.end.Offset != 1 && bytes.Compare(r.begin.Key, r.end.Key) > 0 {
		key, err := r.resolveSelector(r.end)
		switch {
		case err != nil:
			return rangeResult{}, err
		case bytes.Compare(r.begin.Key, key) >= 0 && r.begin.Offset > 0:
			return r.emptyResult()
		case len(key) == 0:
			return r.edgeResult()
		}
		r.narrowForward()
	}
	for {
		more, err := r.stepForward()
		if err == nil {
			err = r.firstError()
		}
		switch {
		case err != nil:
			return rangeResult{}, err
		case more == noResult && r.selectorsCrossed() && len(r.res.kvs) == 0:
			return r.emptyResult()
		case more == noResult:
			return r.edgeResult()
		case more == complete:
			return r.cutForward(), nil
		}
	}
}

func (r *rangeRead) narrowForward() {
	r.at = r.narrowSelector(&r.begin, &r.askedBegin)
	r.goal = r.narrowSelector(&r.end, &r.askedEnd)
}

// progress is what a step of a rangeRead has come to.
type progress uint8

const (
	stepOn   progress = iota
	complete          // the result is complete
	noResult          // there is no result
)

// stepForward passes, takes or fetches what r.at is.
func (r *rangeRead) stepForward() (progress, error) {
	switch {
	case len(r.res.kvs) == 0 && r.selectorsCrossed(), r.end.Offset <= 1 && len(r.end.Key) == 0:
		return noResult, nil
	case r.begin.Offset >= r.end.Offset && bytes.Compare(r.begin.Key, r.end.Key) >= 0,
		r.begin.Offset >= 1 && bytes.Compare(r.begin.Key, r.limit) >= 0:
		return complete, r.resolveEnd()
	case r.at.isKnown() && bytes.Compare(r.at.begin, r.goal.begin) > 0:
		if r.end.Offset != 1 { // the client drops what it has read
			return noResult, nil
		}
		return complete, nil
	case r.left.Reached() && r.past >= 1-r.end.Offset:
		return complete, nil
	case r.at.equals(&r.goal) && (r.at.isKnown() || r.begin.Offset > 0 && r.end.Offset == 1 && bytes.Equal(r.end.Key, r.at.begin)):
		return complete, nil
	}
	switch r.at.kind {
	case unreadableKeys:
		return complete, unreadable(r.at.begin)
	case unknownKeys:
		// The client ends a batch that is limited in bytes before it would ask the
		// servers again, so that the number of batches depends on what is known.
		if r.left.Bytes != reads.Unlimited && r.left.Least == 0 && len(r.res.kvs) > 0 && r.past >= 1-r.end.Offset {
			r.res.more = true
			return complete, nil
		}
		if err := r.checkReadable(); err != nil {
			return complete, err
		}
		r.fetchForward()
		return stepOn, nil
	case pair:
		if r.mergeForward() {
			return stepOn, nil
		}
		r.takePair(&r.at)
	}
	r.at = r.sectionAfter(&r.at)
	return stepOn, nil
}

// resolveEnd resolves the end by itself where the walk has gone past it.
func (r *rangeRead) resolveEnd() error {
	if r.end.Offset == 1 || len(r.res.kvs) == 0 {
		return nil
	}
	key, err := r.resolveSelector(r.end)
	r.end = kv.FirstGreaterOrEqual(key)
	return err
}

// fetchForward makes the request that follows r.at.
func (r *rangeRead) fetchForward() {
	last, singles := r.at, 0
	if bytes.Compare(r.at.begin, r.goal.begin) < 0 {
		last, singles = r.lookAhead(false)
		singles = min(singles, r.singlesToSkip())
	}
	extra, end := 0, r.end
	switch {
	case !last.equals(&r.goal):
		end = kv.FirstGreaterOrEqual(last.end)
		extra = max(0, 1-r.end.Offset)
	case end.Offset < 1:
		extra = 1 - end.Offset
		end.Offset = 1
	case end.Offset > 1:
		singles += r.countSingles(last, r.singlesToSkip()-singles, false)
		end.Offset += singles
	}
	extra += singles
	begin := r.begin
	switch {
	case begin.Offset == 1:
		begin.Key = keys.Max(begin.Key, r.at.begin)
		r.begin = begin
	case begin.Offset > 1:
		extra += begin.Offset - 1
		begin.Offset = 1
	default:
		singles = r.countSingles(r.at, r.singlesToSkip(), true)
		begin.Offset -= singles
		extra += singles
	}
	end.Key = keys.Max(end.Key, begin.Key)
	r.requestMore(begin, end, requestLimits(r.left, extra, 2-begin.Offset, r.requests), false)
	r.narrowForward()
}

// cutForward returns the result without what lies after the end.
func (r *rangeRead) cutForward() rangeResult {
	res := r.res
	res.more = res.more || r.left.Reached()
	if r.end.Offset == 1 {
		keep, _ := slices.BinarySearchFunc(res.kvs, r.end.Key, func(p kv.KeyValue, key []byte) int { return bytes.Compare(p.Key, key) })
		res.more = res.more && keep == len(res.kvs)
		res.kvs = res.kvs[:keep]
	}
	res.toEnd = res.toEnd && !res.more
	return res
}

// readBackward reads from end back to begin (ReadYourWrites: getRangeValueBack).
func (r *rangeRead) readBackward() (rangeResult, error) {
	r.askedBegin, r.askedEnd = r.begin.Offset, r.end.Offset
	r.narrowBackward()
	if r.selectorsCrossed() {
		return r.emptyResult()
	}
	if r.offEnd() {
		return r.edgeResult()
	}
	if r.begin.Offset != 1 && bytes.Compare(r.begin.Key, r.end.Key) > 0 {
		key, err := r.resolveSelector(r.begin)
		switch {
		case err != nil:
			return rangeResult{}, err
		case bytes.Compare(key, r.end.Key) >= 0 && r.end.Offset <= 1:
			return r.emptyResult()
		case bytes.Equal(key, r.limit):
			return r.edgeResult()
		}
		r.narrowBackward()
	}
	for {
		more, err := r.stepBackward()
		if err == nil {
			err = r.firstError()
		}
		switch {
		case err != nil:
			return rangeResult{}, err
		case more == noResult && r.selectorsCrossed() && len(r.res.kvs) == 0:
			return r.emptyResult()
		case more == noResult:
			return r.edgeResult()
		case more == complete:
			return r.cutBackward(), nil
		}
	}
}

func (r *rangeRead) narrowBackward() {
	r.at = r.narrowSelector(&r.end, &r.askedEnd)
	r.goal = r.narrowSelector(&r.begin, &r.askedBegin)
}

// stepBackward passes, takes or fetches what r.at is.
func (r *rangeRead) stepBackward() (progress, error) {
	enough := r.past >= r.begin.Offset-1
	switch {
	case len(r.res.kvs) == 0 && r.selectorsCrossed(), r.begin.Offset > 0 && bytes.Compare(r.begin.Key, r.limit) >= 0:
		return noResult, nil
	case r.begin.Offset >= r.end.Offset && bytes.Compare(r.begin.Key, r.end.Key) >= 0,
		r.end.Offset <= 1 && len(r.end.Key) == 0:
		return complete, r.resolveBegin()
	case enough && r.at.isKnown() && bytes.Compare(r.at.begin, r.goal.begin) < 0:
		if r.begin.Offset != 1 {
			return noResult, nil
		}
		return complete, nil
	case enough && r.left.Reached(), len(r.at.end) == 0:
		return complete, nil
	}
	if r.end.Offset == 1 && bytes.Equal(r.end.Key, r.at.begin) {
		if enough && r.at.equals(&r.goal) {
			return complete, nil
		}
		r.at = r.sectionBefore(&r.at)
	}
	switch r.at.kind {
	case unreadableKeys:
		return complete, unreadable(r.at.end)
	case unknownKeys:
		// Unlike getRangeValue, getRangeValueBack does not look at the least number of rows.
		if r.left.Bytes != reads.Unlimited && len(r.res.kvs) > 0 && enough {
			r.res.more = true
			return complete, nil
		}
		if err := r.checkReadable(); err != nil {
			return complete, err
		}
		r.fetchBackward()
		return stepOn, nil
	case pair:
		if r.mergeBackward() {
			return stepOn, nil
		}
		r.takePair(&r.at)
	}
	if r.at.equals(&r.goal) {
		return complete, nil
	}
	r.at = r.sectionBefore(&r.at)
	return stepOn, nil
}

// resolveBegin resolves the begin by itself where the walk has come before it.
func (r *rangeRead) resolveBegin() error {
	if r.begin.Offset == 1 || len(r.res.kvs) == 0 {
		return nil
	}
	key, err := r.resolveSelector(r.begin)
	r.begin = kv.FirstGreaterOrEqual(key)
	return err
}

// fetchBackward makes the request that precedes r.at.
func (r *rangeRead) fetchBackward() {
	last, singles := r.at, 0
	if bytes.Compare(r.at.begin, r.goal.begin) > 0 {
		last, singles = r.lookAhead(true)
		singles = min(singles, r.singlesToSkip())
	}
	extra, begin := 0, r.begin
	switch {
	case !last.equals(&r.goal):
		begin = kv.FirstGreaterOrEqual(last.begin)
		extra = max(0, r.begin.Offset-1)
	case begin.Offset > 1:
		extra = begin.Offset - 1
		begin.Offset = 1
	case begin.Offset < 1:
		singles += r.countSingles(last, r.singlesToSkip()-singles, true)
		begin.Offset -= singles
	}
	extra += singles
	end := r.end
	switch {
	case end.Offset == 1:
		end.Key = keys.Min(end.Key, r.at.end)
		r.end = end
	case end.Offset < 1:
		extra += 1 - end.Offset
		end.Offset = 1
	default:
		singles = r.countSingles(r.at, r.singlesToSkip(), false)
		end.Offset += singles
		extra += singles
	}
	begin.Key = keys.Min(begin.Key, end.Key)
	r.requestMore(begin, end, requestLimits(r.left, extra, end.Offset, r.requests), true)
	r.narrowBackward()
}

// cutBackward returns the result without what lies before the begin.
func (r *rangeRead) cutBackward() rangeResult {
	res := r.res
	res.more = res.more || r.left.Reached()
	if r.begin.Offset == 1 {
		keep, _ := slices.BinarySearchFunc(res.kvs, r.begin.Key, func(p kv.KeyValue, key []byte) int {
			if bytes.Compare(p.Key, key) >= 0 {
				return -1
			}
			return 1
		})
		res.more = res.more && keep == len(res.kvs)
		res.kvs = res.kvs[:keep]
	}
	res.toBegin = res.toBegin && !res.more
	return res
}
