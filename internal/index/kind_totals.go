// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// The kinds with totals. Fields are the group and may be missing: then all records are one
// group.
const (
	// Count: one entry for each group of records, with their number.
	Count Kind = "count"
	// Sum: one entry for each group of records, with the sum of one field.
	Sum Kind = "sum"
)

var (
	countKind = descriptor{kind: Count, hasTotals: true, maintain: (*maintenance).maintainCount, fill: (*Fill).addToTotals}
	sumKind   = descriptor{kind: Sum, hasTotals: true, maintain: (*maintenance).maintainSum, fill: (*Fill).addToTotals}
)

// CountSize is the length of a stored count in bytes.
const CountSize = 8

// zeroes are the stored forms of a count and of a sum that are 0.
var zeroes [AmountSize]byte

// maintainCount adds one to the groups that the record comes into, and takes one from
// those that it leaves. The entry of a group without records is removed, so that
// groups that once existed do not pile up.
func (m *maintenance) maintainCount(i int, stored, entries *Set) {
	d := newDifference(i, stored, entries)
	for s, ok := d.next(); ok; s, ok = d.next() {
		switch {
		case s.stored < 0:
			m.buf = AppendCount(m.buf[:0], 1)
			m.tx.Atomic(kv.Add, d.key(s), m.buf) // the result is no 0
		case s.entries < 0:
			m.add(d.key(s), AppendCount(m.buf[:0], -1))
		}
	}
}

// add adds a little-endian number to that under key, and removes the key if the result
// is 0. Neither operation reads: they conflict with no concurrent write.
func (m *maintenance) add(key, number []byte) {
	m.buf = number
	m.tx.Atomic(kv.Add, key, number)
	m.tx.Atomic(kv.CompareAndClear, key, zeroes[:len(number)])
}

// AppendCount appends the stored form of a count: 8 bytes, little-endian, two's
// complement.
func AppendCount(dst []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(dst, uint64(n)) }

// ReadCount reads a stored count. No bytes, as a key that is not there has, are 0.
func ReadCount(value []byte) (int64, error) {
	switch len(value) {
	case 0:
		return 0, nil
	case CountSize:
		return int64(binary.LittleEndian.Uint64(value)), nil
	}
	return 0, fmt.Errorf("index: a count has %d bytes, want %d", len(value), CountSize)
}

// maintainSum adds the record's amount to the sums of its groups, and takes away what
// its stored form had added. A sum of 0 has no entry.
func (m *maintenance) maintainSum(i int, stored, entries *Set) {
	d := newDifference(i, stored, entries)
	for s, ok := d.next(); ok; s, ok = d.next() {
		var change Amount
		if s.entries >= 0 {
			change = d.entries.entries.amount(s.entries)
		}
		if s.stored >= 0 {
			change = change.Add(d.stored.entries.amount(s.stored).Negate())
		}
		if !change.IsZero() {
			m.add(d.key(s), change.AppendBytes(m.buf[:0]))
		}
	}
}

// ReadTotal reads the value of an entry of a count or a sum.
func (ix *Index) ReadTotal(value []byte) (Amount, error) {
	if ix.Kind == Sum {
		return ReadAmount(value)
	}
	n, err := ReadCount(value)
	return IntAmount(n), err
}

// AppendTotal appends the value of an entry of a count or a sum.
func (ix *Index) AppendTotal(dst []byte, a Amount) []byte {
	if ix.Kind == Sum {
		return a.AppendBytes(dst)
	}
	n, _ := a.Int64()
	return AppendCount(dst, n)
}

// AddTotal adds to the entry of a count or a sum under key. The entry is removed if the
// result is 0. The transaction conflicts with no other that adds to it.
func (ix *Index) AddTotal(tx kv.Transaction, key []byte, change Amount) {
	m := maintenance{tx: tx, ix: ix}
	m.add(key, ix.AppendTotal(nil, change))
}

// PadTotal returns the number to which AddTotal adds, where the value of an entry may be
// damaged: an engine fills up bytes that are missing with zeroes and drops those that are
// too many.
func (ix *Index) PadTotal(value []byte) Amount {
	padded := make([]byte, CountSize)
	if ix.Kind == Sum {
		padded = make([]byte, AmountSize)
	}
	copy(padded, value)
	a, _ := ix.ReadTotal(padded) // has its length
	return a
}

// Total is what records add to one entry of a count or a sum.
type Total struct {
	Index  int // the number of the index
	Amount Amount
}

// totals yields the keys of index i, a count or a sum, with what a record adds to each.
func (s *Set) totals(i int, ix *Index) iter.Seq2[[]byte, Amount] {
	return func(yield func([]byte, Amount) bool) {
		from, to := s.bounds(i)
		for n := from; n < to; n++ {
			amount := IntAmount(1)
			if ix.Kind == Sum {
				amount = s.entries.amount(n)
			}
			if !yield(s.entries.key(n), amount) {
				return
			}
		}
	}
}

// AddTotals adds what a record adds to the entries of index i, a count or a sum, to
// totals by the entries' keys. It returns the bytes of the keys that are new there.
func (s *Set) AddTotals(i int, ix *Index, totals map[string]Total) (added int) {
	for key, amount := range s.totals(i, ix) {
		if addTotal(totals, i, key, amount) {
			added += len(key)
		}
	}
	return added
}

// addTotal adds to the total of a key, and reports whether the key is new.
func addTotal(totals map[string]Total, i int, key []byte, amount Amount) (isNew bool) {
	t, known := totals[string(key)]
	totals[string(key)] = Total{Index: i, Amount: t.Amount.Add(amount)}
	return !known
}

// addToTotals adds a record to the totals of index i, a count or a sum. The batch adds a
// total at once: a group has one operation in a transaction, however many records.
func (f *Fill) addToTotals(i int, entries *Set, _ Record) {
	ix := &f.indexes[i]
	for key, amount := range entries.totals(i, ix) {
		if addTotal(f.totals, i, key, amount) {
			f.size += 2 * ix.fillSize(key, Record{})
		}
	}
}

// addTotals writes the totals.
func (f *Fill) addTotals() {
	for _, key := range slices.Sorted(maps.Keys(f.totals)) {
		t := f.totals[key]
		if t.Amount.IsZero() {
			continue
		}
		m := maintenance{tx: f.tx, ix: &f.indexes[t.Index], buf: f.buf[:0]}
		m.add([]byte(key), m.ix.AppendTotal(m.buf, t.Amount))
		f.buf = m.buf
	}
}
