// SPDX-License-Identifier: Apache-2.0

package rangeset

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// Set is a set of keys that is kept as ranges which neither overlap nor
// touch. The zero set is empty.
type Set struct {
	ends  btree.Tree[rangeEnd] // of each range, by its first key
	count int                  // of ranges
	joins uint64               // how often a range was added
}

// rangeEnd is what a Set knows of a range in addition to its first key.
type rangeEnd struct {
	key    []byte // the first behind the range
	joined uint64 // the number of the join that made or extended the range
}

func (s *Set) IsEmpty() bool { return s.count == 0 }

// Len returns how many ranges the set has.
func (s *Set) Len() int { return s.count }

// Snapshot returns the set as it is now.
func (s *Set) Snapshot() Set {
	if s.IsEmpty() {
		return Set{}
	}
	return Set{ends: s.ends.Snapshot(), count: s.count, joins: s.joins}
}

// Find returns the range of the set that holds key, or with below what lies
// just below it.
func (s *Set) Find(key []byte, below bool) (r kv.KeyRange, ok bool) {
	if s.IsEmpty() {
		return r, false
	}
	var c btree.Cursor[rangeEnd]
	if below && c.SeekBelow(&s.ends, key) || !below && c.SeekFloor(&s.ends, key) {
		order := bytes.Compare(key, c.Value().key)
		return kv.KeyRange{Begin: c.Key(), End: c.Value().key}, order < 0 || below && order == 0
	}
	return r, false
}

// Around returns the longest range that holds key, or with below what lies just
// below it, of keys that are all in the set or all not.
func (s *Set) Around(key []byte, below bool) (r kv.KeyRange, in bool) {
	r, in = s.Find(key, below)
	if in {
		return r, true
	}
	r = kv.KeyRange{Begin: keys.Max([]byte{}, r.End), End: keys.SystemEnd}
	var c btree.Cursor[rangeEnd]
	if c.Seek(&s.ends, key) {
		r.End = c.Key()
	}
	return r, false
}

// Join adds a range, and makes one of it and those that it meets. The set keeps
// the range.
func (s *Set) Join(r kv.KeyRange) {
	var c btree.Cursor[rangeEnd]
	if c.SeekFloor(&s.ends, r.Begin) && bytes.Compare(c.Value().key, r.Begin) >= 0 {
		r.Begin, r.End = c.Key(), keys.Max(r.End, c.Value().key)
	}
	var met [][]byte
	for ok := c.Seek(&s.ends, r.Begin); ok && bytes.Compare(c.Key(), r.End) <= 0; ok = c.Next() {
		r.End = keys.Max(r.End, c.Value().key)
		met = append(met, c.Key())
	}
	for _, key := range met {
		s.ends.Remove(key)
	}
	s.joins++
	s.ends.Set(r.Begin, rangeEnd{r.End, s.joins})
	s.count += 1 - len(met)
}

// Build fills an empty set with ranges, and keeps them: as if they were joined one
// after the other, at once.
func (s *Set) Build(ranges []kv.KeyRange) {
	ranges = slices.Clone(ranges)
	byBegin := func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) }
	if !slices.IsSortedFunc(ranges, byBegin) {
		slices.SortFunc(ranges, byBegin)
	}
	items := make([]btree.Item[rangeEnd], 0, len(ranges))
	for _, r := range ranges {
		s.joins++
		if n := len(items); n > 0 && bytes.Compare(items[n-1].Value.key, r.Begin) >= 0 {
			items[n-1].Value = rangeEnd{keys.Max(items[n-1].Value.key, r.End), s.joins}
			continue
		}
		items = append(items, btree.Item[rangeEnd]{Key: r.Begin, Value: rangeEnd{r.End, s.joins}})
	}
	s.ends.Build(items)
	s.count = len(items)
}

// RemoveKey takes key out of the set.
func (s *Set) RemoveKey(key []byte) {
	r, in := s.Find(key, false)
	if !in {
		return
	}
	joined := s.ends.Get(r.Begin).joined
	s.drop(r)
	for _, left := range []kv.KeyRange{{Begin: r.Begin, End: key}, {Begin: keys.Successor(key), End: r.End}} {
		if bytes.Compare(left.Begin, left.End) < 0 {
			s.ends.Set(left.Begin, rangeEnd{left.End, joined})
			s.count++
		}
	}
}

// drop takes a range out that is one of the set.
func (s *Set) drop(r kv.KeyRange) {
	s.ends.Remove(r.Begin)
	s.count--
}

// EvictOldest takes out n ranges, or all: those that were made or extended the longest
// ago.
func (s *Set) EvictOldest(n int) {
	type rangeAge struct {
		begin  []byte
		joined uint64
	}
	all := make([]rangeAge, 0, s.count)
	var c btree.Cursor[rangeEnd]
	for ok := c.Seek(&s.ends, nil); ok; ok = c.Next() {
		all = append(all, rangeAge{c.Key(), c.Value().joined})
	}
	slices.SortFunc(all, func(a, b rangeAge) int { return cmp.Compare(a.joined, b.joined) })
	for _, a := range all[:min(n, len(all))] {
		s.ends.Remove(a.begin)
		s.count--
	}
}
