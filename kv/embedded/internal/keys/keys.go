// SPDX-License-Identifier: Apache-2.0

// Package keys has the functions on keys and key ranges that all parts of the
// engine share, and sets of keys ([Set]). No function modifies its arguments. Where a
// result shares memory with an argument, its comment says so.
package keys

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

// Merge returns ranges in order, those that overlap or touch as one.
func Merge(ranges []kv.KeyRange) []kv.KeyRange {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	out := sorted[:0]
	for _, r := range sorted {
		if n := len(out); n > 0 && bytes.Compare(out[n-1].End, r.Begin) >= 0 {
			out[n-1].End = Max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Own copies b. The copy is not nil. A zero byte follows it in memory, which
// [OwnedSuccessor] takes in.
func Own(b []byte) []byte {
	c := make([]byte, len(b)+1)
	copy(c, b)
	return c[:len(b)]
}

// CloneRange returns a copy of r.
func CloneRange(r kv.KeyRange) kv.KeyRange {
	n := len(r.Begin)
	both := append(append(make([]byte, 0, n+len(r.End)), r.Begin...), r.End...)
	return kv.KeyRange{Begin: both[:n:n], End: both[n:]}
}

// OwnedSuccessor returns the successor of a key that [Own] returned. It shares the
// key's memory.
func OwnedSuccessor(key []byte) []byte { return key[: len(key)+1 : len(key)+1] }

// Single returns the range of one key, which it copies.
func Single(key []byte) kv.KeyRange {
	own := Own(key)
	return kv.KeyRange{Begin: own, End: OwnedSuccessor(own)}
}

// IsSuccessor reports whether next is the successor of key.
func IsSuccessor(next, key []byte) bool {
	n := len(key)
	return len(next) == n+1 && next[n] == 0 && bytes.Equal(next[:n], key)
}

// SharedSuccessor returns the successor of a key that is never modified. Where a
// zero byte follows the key in memory, as after that of [Own], it shares the
// key's memory.
func SharedSuccessor(key []byte) []byte {
	if n := len(key); n < cap(key) && key[:n+1][n] == 0 {
		return key[: n+1 : n+1]
	}
	return Successor(key)
}

// Successor returns the first key after key, in memory of its own.
func Successor(key []byte) []byte {
	after := make([]byte, len(key)+1, len(key)+2)
	copy(after, key)
	return after[: len(key)+1 : len(key)+2]
}

// Holds reports whether r holds key, or with below the keys just below it.
func Holds(r kv.KeyRange, key []byte, below bool) bool {
	if below {
		return bytes.Compare(r.Begin, key) < 0 && bytes.Compare(key, r.End) <= 0
	}
	return bytes.Compare(r.Begin, key) <= 0 && bytes.Compare(key, r.End) < 0
}

// Printable shows a key in an error, cut to a readable length.
func Printable(key []byte) string {
	const most = 64
	if len(key) > most {
		return strconv.Quote(string(key[:most])) + "…"
	}
	return strconv.Quote(string(key))
}

// SystemEnd is above every key that can be written.
var SystemEnd = []byte{0xff, 0xff}

// Max returns the higher of two keys.
func Max(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// Min returns the lower of two keys.
func Min(a, b []byte) []byte {
	if bytes.Compare(a, b) > 0 {
		return b
	}
	return a
}

// Set is a set of keys that is kept as ranges which neither overlap nor
// touch. The zero set is empty.
type Set struct {
	ends  btree.Tree[rangeEnd] // of each range, by its first key
	count int                  // of ranges
	joins uint64               // how often a range was added
}

// rangeEnd is what a Set knows of a range in addition to its first key.
type rangeEnd struct {
	key    []byte // the first after the range
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
	r = kv.KeyRange{Begin: Max([]byte{}, r.End), End: SystemEnd}
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
		r.Begin, r.End = c.Key(), Max(r.End, c.Value().key)
	}
	var met [][]byte
	for ok := c.Seek(&s.ends, r.Begin); ok && bytes.Compare(c.Key(), r.End) <= 0; ok = c.Next() {
		r.End = Max(r.End, c.Value().key)
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
			items[n-1].Value = rangeEnd{Max(items[n-1].Value.key, r.End), s.joins}
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
	for _, left := range []kv.KeyRange{{Begin: r.Begin, End: key}, {Begin: Successor(key), End: r.End}} {
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
