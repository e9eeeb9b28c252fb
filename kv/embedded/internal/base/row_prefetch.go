// SPDX-License-Identifier: Apache-2.0

package base

import "hash/maphash"

// prefetchedRows is how many rows are loaded side by side: about as many lines of
// memory as a processor waits for at a time.
const prefetchedRows = 16

// Prefetch loads the rows that the row cache has of some keys. A lookup waits for a
// slot of the table, then for the row, then for its pair. Prefetch waits for
// all slots at once, then for all rows, then for all pairs.
func (b *Base) Prefetch(keys [][]byte) {
	for len(keys) > 0 {
		n := min(prefetchedRows, len(keys))
		b.rows.prefetch(keys[:n])
		keys = keys[n:]
	}
}

// prefetch loads the rows of at most prefetchedRows keys. The result has no meaning; it
// keeps the compiler from leaving the loads out.
//
//go:noinline
func (c *rowCache) prefetch(keys [][]byte) (loaded int) {
	if c == nil {
		return 0
	}
	var rows [prefetchedRows]*row
	for i, key := range keys {
		hash := maphash.Bytes(c.seed, key)
		t := *c.part(hash).table.Load()
		rows[i] = t[hash&t.mask()].Load()
	}
	var pairs [prefetchedRows][]byte
	for i, r := range rows[:len(keys)] {
		if r != nil {
			pairs[i] = r.pair
		}
	}
	for _, pair := range pairs[:len(keys)] {
		for at := 0; at < len(pair) && at < prefetchedBytes; at += cacheLine {
			loaded += int(pair[at])
		}
	}
	return loaded
}

const (
	cacheLine       = 64
	prefetchedBytes = 256 // of a pair: the processor finds out itself about those that follow
)
