// SPDX-License-Identifier: Apache-2.0

package index

import (
	"maps"
	"slices"
)

// total is what the records of a batch add to one entry of a count or a sum. The batch
// adds it at once: a group has one operation in a transaction, however many records.
type total struct {
	index  int
	amount Amount
}

// addToTotals adds a record to the totals of index i, a count or a sum.
func (f *Fill) addToTotals(i int, entries *Set) {
	ix := &f.indexes[i]
	from, to := entries.bounds(i)
	for n := from; n < to; n++ {
		amount := IntAmount(1)
		if ix.Kind == Sum {
			amount = entries.entries.amount(n)
		}
		key := entries.entries.key(n)
		t, known := f.totals[string(key)]
		if !known {
			t.index = i
			f.size += 2 * ix.fillSize(key, Record{})
		}
		t.amount = t.amount.Add(amount)
		f.totals[string(key)] = t
	}
}

// addTotals writes the totals.
func (f *Fill) addTotals() {
	for _, key := range slices.Sorted(maps.Keys(f.totals)) {
		t := f.totals[key]
		if t.amount.IsZero() {
			continue
		}
		m := maintenance{tx: f.tx, ix: &f.indexes[t.index], buf: f.buf[:0]}
		if m.ix.Kind == Sum {
			m.add([]byte(key), t.amount.AppendBytes(m.buf))
		} else {
			n, _ := t.amount.Int64()
			m.add([]byte(key), AppendCount(m.buf, n))
		}
		f.buf = m.buf
	}
}

// addToVersions makes room for the versions that the caller sets of a record.
func (f *Fill) addToVersions(i int, entries *Set) {
	for n := range entries.Keys(i) {
		f.size += rankLevels * f.indexes[i].fillSize(entries.Key(i, n), Record{})
	}
}

// rankLevels is about how many keys one element of a skip list changes.
const rankLevels = 8
