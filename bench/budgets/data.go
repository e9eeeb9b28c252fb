// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// The data of all contests on keys: 24-byte keys, 200-byte values.
const (
	totalKeys = 100_000
	valueSize = 200
	scanned   = 100 // keys of a range scan
	cacheSize = 256 << 20
)

// fillBatch is the number of records in each batch that fills a store.
const fillBatch = 1000

// shuffled returns the record that comes i-th when n are written in an order
// that has nothing to do with that of their keys.
func shuffled(i, n int) int {
	const prime = 7_368_787 // shares no factor with a power of ten
	return int(uint64(i) * prime % uint64(n))
}

// appendKey appends the key of record i.
func appendKey(b []byte, i int) []byte { return fmt.Appendf(b, "a key of 24 bytes%07d", i) }

// key returns the key of record i in the worker's own buffer, which the next
// call overwrites.
func key(buf *[]byte, i int) []byte {
	const digits = 7
	*buf = append((*buf)[:0], "a key of 24 bytes"...)
	for range digits {
		*buf = append(*buf, '0')
	}
	for at := len(*buf) - 1; i > 0; at, i = at-1, i/10 {
		(*buf)[at] = byte('0' + i%10)
	}
	return *buf
}

// noise has the bytes of all values: it does not compress, and neighbours have different
// values.
var noise = func() []byte {
	b := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(b)
	return b
}()

// value returns the value of record i.
func value(i int) []byte {
	at := int(uint64(i) * 7919 % (1<<20 - valueSize))
	v := bytes.Clone(noise[at : at+valueSize])
	binary.BigEndian.PutUint64(v, uint64(i))
	return v
}

// checkValue reports whether v is the value of record i.
func checkValue(v []byte, i int) error {
	if len(v) != valueSize || binary.BigEndian.Uint64(v) != uint64(i) {
		return fmt.Errorf("record %d has the value %x", i, v)
	}
	return nil
}
