// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
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
	buf    []byte    // all keys, one after the other; the key of a sum is followed by its amount
	spans  []span    // where each key is in buf
	prefix []byte    // what the keys of the index being gathered begin with
	shard  []byte    // what follows then; empty if the index is not scattered
	id     []byte    // what they end with; empty where [Definition.Split] finds no id
	texts  *[]string // takes the texts of a record, and there are no entries; nil for entries
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

// EndInt is [Entries.EndAmount] of an integer.
func (e *Entries) EndInt(b []byte, v int64) { e.EndAmount(b, IntAmount(v)) }

// EndUint is [Entries.EndAmount] of an unsigned integer.
func (e *Entries) EndUint(b []byte, v uint64) { e.EndAmount(b, UintAmount(v)) }

// amount returns what EndAmount put after the i-th key.
func (e *Entries) amount(i int) Amount {
	a, _ := ReadAmount(e.buf[e.spans[i].to:][:AmountSize])
	return a
}

func (e *Entries) key(i int) []byte { return e.buf[e.spans[i].from:e.spans[i].to:e.spans[i].to] }

// sortDistinct sorts the keys, starting with the i-th, and removes repetitions.
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
// none. Call Close afterwards in any case.
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
// dropped. A key over FoundationDB's limit is a *[KeySizeError]; too many entries are an *[EntriesSizeError].
func (s *Set) Close(ix *Index) error {
	e := &s.entries
	from, limit := s.first[len(s.first)-1], kv.MaxKeySize-ix.Kind.descriptor().overhead
	for i := from; i < len(e.spans); i++ {
		if e.spans[i].to-e.spans[i].from > limit {
			return keySizeError(ix, e.key(i))
		}
	}
	e.sortDistinct(from)
	return e.checkSize(ix, from)
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

// Amount returns what the record adds to the sum under the n-th key of index i, which
// is of the kind [Sum].
func (s *Set) Amount(i, n int) Amount { return s.entries.amount(s.first[i] + n) }

// Record is what the maintenance of entries needs to know of a record.
type Record struct {
	ID    []byte // packed
	Value []byte // what covering entries copy: the record, nil if it does not fit into a value; or chosen fields, by [Set.Record]
}

// cover is what the entries of one index copy of a record's fields.
type cover struct{ index, from, to int }

// BeginCover returns the buffer to which the caller appends what the entries of an
// index with CoverFields copy of the record. Call it after Close.
func (s *Set) BeginCover() []byte { return s.entries.buf }

// EndCover takes the buffer back and completes the index that was closed last. A copy
// that does not fit into a value is a *[CoverSizeError].
func (s *Set) EndCover(ix *Index, b []byte) error {
	e := &s.entries
	s.covers = append(s.covers, cover{len(s.first) - 1, len(e.buf), len(b)})
	size := len(b) - len(e.buf)
	e.buf = b
	if size > maxCover {
		return &CoverSizeError{ix.Definition, size}
	}
	return nil
}

// maxCover is how many bytes of fields an entry can copy: a value has room for them
// after the longest id.
const maxCover = kv.MaxValueSize - kv.MaxKeySize

// Record returns what AppendValue needs to know of the record for the entries of index
// i: r, or the copies of its fields in place of the record.
func (s *Set) Record(i int, ix *Index, r Record) Record {
	if len(ix.CoverFields) == 0 {
		return r
	}
	r.Value = nil
	if s == nil {
		return r
	}
	for _, c := range s.covers {
		if c.index == i {
			r.Value = s.entries.buf[c.from:c.to:c.to]
		}
	}
	return r
}

// CoverSizeError says that the fields that entries of an index copy are too large.
type CoverSizeError struct {
	Definition *Definition
	Size       int // bytes of the fields
}

// Error implements error.
func (e *CoverSizeError) Error() string {
	return fmt.Sprintf("index: the fields %v that %s copies have %d bytes; at most %d are possible: copy fewer, or none",
		e.Definition.CoverFields, e.Definition.Name, e.Size, maxCover)
}

// Amount is what a record adds to a sum, or the sum: an integer of 128 bits, so
// that no number of records with integers of 64 bits makes it wrap around. The zero
// value is 0.
type Amount struct {
	hi int64
	lo uint64
}

// AmountSize is the length of a stored amount in bytes.
const AmountSize = 16

// IntAmount returns the amount v. A time.Duration is its nanoseconds.
func IntAmount(v int64) Amount { return Amount{v >> 63, uint64(v)} }

// UintAmount returns the amount v.
func UintAmount(v uint64) Amount { return Amount{0, v} }

// ReadAmount reads a stored amount. No bytes, as a key that is not there has, are 0.
func ReadAmount(value []byte) (Amount, error) {
	switch len(value) {
	case 0:
		return Amount{}, nil
	case AmountSize:
		return Amount{int64(binary.LittleEndian.Uint64(value[8:])), binary.LittleEndian.Uint64(value)}, nil
	}
	return Amount{}, fmt.Errorf("index: a sum has %d bytes, want %d", len(value), AmountSize)
}

// AppendBytes appends the stored form: 16 bytes, little-endian, two's complement. The
// engine adds two such numbers by its atomic operation Add.
func (a Amount) AppendBytes(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, a.lo)
	return binary.LittleEndian.AppendUint64(dst, uint64(a.hi))
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return Amount{a.hi + b.hi + int64(carry), lo}
}

// Negate returns the amount with the opposite sign.
func (a Amount) Negate() Amount {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	return Amount{-a.hi - int64(borrow), lo}
}

// IsZero reports whether the amount is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Int64 returns the amount, and whether it fits.
func (a Amount) Int64() (v int64, fits bool) { return int64(a.lo), a.hi == int64(a.lo)>>63 }

// Uint64 returns the amount, and whether it fits.
func (a Amount) Uint64() (v uint64, fits bool) { return a.lo, a.hi == 0 }

// Big returns the amount as an integer of any size.
func (a Amount) Big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.lo))
}

// String returns the amount in decimal.
func (a Amount) String() string { return a.Big().String() }
