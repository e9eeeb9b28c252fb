// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// CountSize is the length of a stored count in bytes.
const CountSize = 8

// zeroes are the stored forms of a count and of a sum that are 0.
var zeroes [AmountSize]byte

// maintainCount adds one to the groups that the record comes into, and takes one from
// those that it leaves. The entry of a group without records is removed, so that
// groups that once existed do not pile up.
func (m *maintenance) maintainCount(d difference) {
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
