// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/rangeread"
)

// ascend reads from begin to end.
func (r *rangeRead) ascend() (rangeResult, error) {
	r.askedBegin, r.askedEnd = r.begin.Offset, r.end.Offset
	r.narrowForward()
	if r.crossed() {
		return r.nothing()
	}
	if r.offEnd() {
		return r.edges()
	}
	if r.end.Offset != 1 && bytes.Compare(r.begin.Key, r.end.Key) > 0 {
		key, err := r.settle(r.end)
		switch {
		case err != nil:
			return rangeResult{}, err
		case bytes.Compare(r.begin.Key, key) >= 0 && r.begin.Offset > 0:
			return r.nothing()
		case len(key) == 0:
			return r.edges()
		}
		r.narrowForward()
	}
	for {
		more, err := r.stepForward()
		if err == nil {
			err = r.failure()
		}
		switch {
		case err != nil:
			return rangeResult{}, err
		case more == lost && r.crossed() && len(r.res.kvs) == 0:
			return r.nothing()
		case more == lost:
			return r.edges()
		case more == over:
			return r.cutForward(), nil
		}
	}
}

func (r *rangeRead) narrowForward() {
	r.at = r.narrow(&r.begin, &r.askedBegin)
	r.goal = r.narrow(&r.end, &r.askedEnd)
}

// progress is what a step of a rangeRead has come to.
type progress uint8

const (
	onward progress = iota
	over            // the result is complete
	lost            // there is no result
)

// stepForward passes, takes or fetches what r.at is.
func (r *rangeRead) stepForward() (progress, error) {
	switch {
	case len(r.res.kvs) == 0 && r.crossed(), r.end.Offset <= 1 && len(r.end.Key) == 0:
		return lost, nil
	case r.begin.Offset >= r.end.Offset && bytes.Compare(r.begin.Key, r.end.Key) >= 0,
		r.begin.Offset >= 1 && bytes.Compare(r.begin.Key, r.limit) >= 0:
		return over, r.settleEnd()
	case r.at.told() && bytes.Compare(r.at.begin, r.goal.begin) > 0:
		if r.end.Offset != 1 {
			return lost, nil
		}
		return over, nil
	case r.left.Reached() && r.past >= 1-r.end.Offset:
		return over, nil
	case r.at.is(&r.goal) && (r.at.told() || r.begin.Offset > 0 && r.end.Offset == 1 && bytes.Equal(r.end.Key, r.at.begin)):
		return over, nil
	}
	switch r.at.kind {
	case veiled:
		return over, unreadable(r.at.begin)
	case unread:
		if r.left.Bytes != rangeread.Unlimited && r.left.Least == 0 && len(r.res.kvs) > 0 && r.past >= 1-r.end.Offset {
			r.res.more = true
			return over, nil
		}
		if err := r.ready(); err != nil {
			return over, err
		}
		r.fetchForward()
		return onward, nil
	case pair:
		if r.mergeForward() {
			return onward, nil
		}
		r.take(&r.at)
	}
	r.at = r.after(&r.at)
	return onward, nil
}

// settleEnd resolves the end by itself where the walk has come behind it.
func (r *rangeRead) settleEnd() error {
	if r.end.Offset == 1 || len(r.res.kvs) == 0 {
		return nil
	}
	key, err := r.settle(r.end)
	r.end = kv.FirstGreaterOrEqual(key)
	return err
}

// fetchForward makes the request that follows r.at.
func (r *rangeRead) fetchForward() {
	last, singles := r.at, 0
	if bytes.Compare(r.at.begin, r.goal.begin) < 0 {
		last, singles = r.lookAhead(false)
		singles = min(singles, r.skips())
	}
	extra, end := 0, r.end
	switch {
	case !last.is(&r.goal):
		end = kv.FirstGreaterOrEqual(last.end)
		extra = max(0, 1-r.end.Offset)
	case end.Offset < 1:
		extra = 1 - end.Offset
		end.Offset = 1
	case end.Offset > 1:
		singles += r.countSingles(last, r.skips()-singles, false)
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
		singles = r.countSingles(r.at, r.skips(), true)
		begin.Offset -= singles
		extra += singles
	}
	end.Key = keys.Max(end.Key, begin.Key)
	r.fetch(begin, end, requestLimits(r.left, extra, 2-begin.Offset, r.requests), false)
	r.narrowForward()
}

// cutForward returns the result without what lies behind the end.
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
