// SPDX-License-Identifier: Apache-2.0

package index

// Total is what records add to one entry of a count or a sum.
type Total struct {
	Index  int // the number of the index
	Amount Amount
}

// HasTotals reports whether an entry of an index of the kind is a number to which each
// record of a group adds.
func (k Kind) HasTotals() bool { return k == Count || k == Sum }

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
