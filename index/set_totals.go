// SPDX-License-Identifier: Apache-2.0

package index

// AddTotals adds what a record adds to the entries of index i, a count or a sum, to
// totals by the entries' keys. It returns the bytes of the keys that are new there.
func (s *Set) AddTotals(i int, ix *Index, totals map[string]Total) (added int) {
	from, to := s.bounds(i)
	for n := from; n < to; n++ {
		amount := IntAmount(1)
		if ix.Kind == Sum {
			amount = s.entries.amount(n)
		}
		key := s.entries.key(n)
		t, known := totals[string(key)]
		if !known {
			t.Index = i
			added += len(key)
		}
		t.Amount = t.Amount.Add(amount)
		totals[string(key)] = t
	}
	return added
}
