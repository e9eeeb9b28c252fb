// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Entries receives the entries that one record has in one index. Generated
// code calls it, once per entry:
//
//	k := e.Begin()
//	k = index.AppendString(k, v.Number)
//	e.End(k)
//
// An entry begun and not ended is not there: a null in a unique index. It is
// for one goroutine.
type Entries struct {
	buf    []byte // all keys, one behind the other, that of a sum with its amount behind it
	spans  []span // where each key is in buf
	prefix []byte // what the keys of the index being gathered begin with
	shard  []byte // what follows then; empty if the index is not scattered
	id     []byte // what they end with; empty where [Definition.Split] finds no id
}

type span struct {
	from, to int
	foreign  bool // another record owns this unique key; known after Claims.Check
}

// Begin returns the buffer to which the entry's values are appended.
func (e *Entries) Begin() []byte { return append(append(e.buf, e.prefix...), e.shard...) }

// End takes the buffer back and completes the entry.
func (e *Entries) End(b []byte) {
	from := len(e.buf)
	e.buf = append(b, e.id...)
	e.spans = append(e.spans, span{from: from, to: len(e.buf)})
}

// EndAmount is [Entries.End] for an index of the kind Sum: amount is what the record
// adds to the sum of the group.
func (e *Entries) EndAmount(b []byte, amount Amount) {
	e.End(b)
	e.buf = amount.AppendBytes(e.buf)
}

// amount returns what EndAmount put behind the i-th key.
func (e *Entries) amount(i int) Amount {
	a, _ := ReadAmount(e.buf[e.spans[i].to:][:AmountSize])
	return a
}

func (e *Entries) key(i int) []byte { return e.buf[e.spans[i].from:e.spans[i].to:e.spans[i].to] }

// sortDistinct sorts the keys from the i-th on and removes repetitions.
func (e *Entries) sortDistinct(i int) {
	spans := e.spans[i:]
	if len(spans) < 2 {
		return
	}
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(e.buf[a.from:a.to], e.buf[b.from:b.to]) })
	spans = slices.CompactFunc(spans, func(a, b span) bool { return bytes.Equal(e.buf[a.from:a.to], e.buf[b.from:b.to]) })
	e.spans = e.spans[:i+len(spans)]
}

// Set is the entries of one record in all indexes of its type. It is reused
// from record to record and is for one goroutine.
type Set struct {
	entries Entries
	first   []int   // first[i] is the first span of index i
	covers  []cover // of the indexes with CoverFields
}

// Reset empties the set.
func (s *Set) Reset() {
	s.entries.buf, s.entries.spans = s.entries.buf[:0], s.entries.spans[:0]
	s.first, s.covers = s.first[:0], s.covers[:0]
}

// Open begins gathering the entries of the next index for the record with that
// packed id. It returns nil if the index is not maintained: then there are
// none. Call Close behind it in any case.
func (s *Set) Open(ix *Index, id []byte) *Entries {
	e := &s.entries
	s.first = append(s.first, len(e.spans))
	if ix.State == Disabled {
		return nil
	}
	e.prefix, e.id = ix.Prefix, id
	e.shard = ix.Scatter.Append(e.shard[:0], id)
	if !ix.hasID() {
		e.id = nil
	}
	return e
}

// Close completes the index begun by Open: keys are sorted and repetitions
// dropped. A key over FoundationDB's limit is a *[KeySizeError].
func (s *Set) Close(ix *Index) error {
	e := &s.entries
	from, limit := s.first[len(s.first)-1], kv.MaxKeySize-ix.overhead()
	for i := from; i < len(e.spans); i++ {
		if e.spans[i].to-e.spans[i].from > limit {
			return keySizeError(ix, e.key(i))
		}
	}
	e.sortDistinct(from)
	return nil
}

// bounds returns the spans of index i.
func (s *Set) bounds(i int) (from, to int) {
	switch {
	case i >= len(s.first):
		return 0, 0
	case i == len(s.first)-1:
		return s.first[i], len(s.entries.spans)
	}
	return s.first[i], s.first[i+1]
}

// Keys returns how many entries index i has.
func (s *Set) Keys(i int) int {
	from, to := s.bounds(i)
	return to - from
}

// Key returns the n-th key of index i, in ascending order. It is valid until
// Reset.
func (s *Set) Key(i, n int) []byte { return s.entries.key(s.first[i] + n) }

// Has reports whether index i has the key.
func (s *Set) Has(i int, key []byte) bool {
	from, to := s.bounds(i)
	for ; from < to; from++ {
		if bytes.Equal(s.entries.key(from), key) {
			return true
		}
	}
	return false
}

// markForeign notes whether another record owns the n-th key of index i.
func (s *Set) markForeign(i, n int, foreign bool) { s.entries.spans[s.first[i]+n].foreign = foreign }
