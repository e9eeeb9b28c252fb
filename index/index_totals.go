// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/kazahana-db/kazahana/kv"

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
