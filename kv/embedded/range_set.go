// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// rangeSet is a set of keys that is kept as ranges which neither overlap nor
// touch. The zero set is empty.
type rangeSet struct {
	ends  tree[rangeEnd] // of each range, by its first key
	count int            // of ranges
	joins uint64         // how often a range was added
}

// rangeEnd is what a rangeSet knows of a range beside its first key.
type rangeEnd struct {
	key    []byte // the first behind the range
	joined uint64 // the number of the join that made or extended the range
}

func (s *rangeSet) empty() bool { return s.count == 0 }

// snapshot returns the set as it is now.
func (s *rangeSet) snapshot() rangeSet {
	if s.empty() {
		return rangeSet{}
	}
	return rangeSet{ends: s.ends.snapshot(), count: s.count, joins: s.joins}
}

// holding returns the range of the set that holds key, or with below what lies
// just below it.
func (s *rangeSet) holding(key []byte, below bool) (r kv.KeyRange, ok bool) {
	if s.empty() {
		return r, false
	}
	var c cursor[rangeEnd]
	if below && c.seekBelow(&s.ends, key) || !below && c.seekFloor(&s.ends, key) {
		order := bytes.Compare(key, c.val().key)
		return kv.KeyRange{Begin: c.key(), End: c.val().key}, order < 0 || below && order == 0
	}
	return r, false
}

// around returns the longest range that holds key, or with below what lies just
// below it, of keys that are all in the set or all not.
func (s *rangeSet) around(key []byte, below bool) (r kv.KeyRange, in bool) {
	r, in = s.holding(key, below)
	if in {
		return r, true
	}
	r = kv.KeyRange{Begin: maxKey([]byte{}, r.End), End: systemEnd}
	var c cursor[rangeEnd]
	if c.seek(&s.ends, key) {
		r.End = c.key()
	}
	return r, false
}

// join adds a range, and makes one of it and those that it meets. The set keeps
// the range.
func (s *rangeSet) join(r kv.KeyRange) {
	var c cursor[rangeEnd]
	if c.seekFloor(&s.ends, r.Begin) && bytes.Compare(c.val().key, r.Begin) >= 0 {
		r.Begin, r.End = c.key(), maxKey(r.End, c.val().key)
	}
	var met [][]byte
	for ok := c.seek(&s.ends, r.Begin); ok && bytes.Compare(c.key(), r.End) <= 0; ok = c.next() {
		r.End = maxKey(r.End, c.val().key)
		met = append(met, c.key())
	}
	for _, key := range met {
		s.ends.remove(key)
	}
	s.joins++
	s.ends.set(r.Begin, rangeEnd{r.End, s.joins})
	s.count += 1 - len(met)
}

// build fills an empty set with ranges, and keeps them: as if they were joined one
// after the other, at once.
func (s *rangeSet) build(ranges []kv.KeyRange) {
	ranges = slices.Clone(ranges)
	byBegin := func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) }
	if !slices.IsSortedFunc(ranges, byBegin) {
		slices.SortFunc(ranges, byBegin)
	}
	items := make([]item[rangeEnd], 0, len(ranges))
	for _, r := range ranges {
		s.joins++
		if n := len(items); n > 0 && bytes.Compare(items[n-1].val.key, r.Begin) >= 0 {
			items[n-1].val = rangeEnd{maxKey(items[n-1].val.key, r.End), s.joins}
			continue
		}
		items = append(items, item[rangeEnd]{r.Begin, rangeEnd{r.End, s.joins}})
	}
	s.ends.build(items)
	s.count = len(items)
}

// cut takes key out of the set.
func (s *rangeSet) cut(key []byte) {
	r, in := s.holding(key, false)
	if !in {
		return
	}
	joined := s.ends.get(r.Begin).joined
	s.drop(r)
	for _, left := range []kv.KeyRange{{Begin: r.Begin, End: key}, {Begin: successor(key), End: r.End}} {
		if bytes.Compare(left.Begin, left.End) < 0 {
			s.ends.set(left.Begin, rangeEnd{left.End, joined})
			s.count++
		}
	}
}

// drop takes a range out that is one of the set.
func (s *rangeSet) drop(r kv.KeyRange) {
	s.ends.remove(r.Begin)
	s.count--
}

// evict takes out n ranges, or all: those that were made or extended the longest
// ago.
func (s *rangeSet) evict(n int) {
	type aged struct {
		begin  []byte
		joined uint64
	}
	all := make([]aged, 0, s.count)
	var c cursor[rangeEnd]
	for ok := c.seek(&s.ends, nil); ok; ok = c.next() {
		all = append(all, aged{c.key(), c.val().joined})
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Compare(a.joined, b.joined) })
	for _, a := range all[:min(n, len(all))] {
		s.ends.remove(a.begin)
		s.count--
	}
}
