// SPDX-License-Identifier: Apache-2.0

package index

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
