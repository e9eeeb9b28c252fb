// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/kazahana-db/kazahana/kv"

// AppendKeys does what Start does before it reads, and appends the keys that are to be
// read, for a caller that starts the reads of many records at once. It gives their
// futures to TakeReads.
func (c *Claims) AppendKeys(keys [][]byte, indexes []Index, entries *Set) [][]byte {
	c.reads = c.reads[:0]
	for i := range indexes {
		if !indexes[i].Unique || indexes[i].State == Disabled {
			continue
		}
		for n := range entries.Keys(i) {
			c.reads = append(c.reads, claim{index: i, n: n})
			keys = append(keys, entries.Key(i, n))
		}
	}
	return keys
}

// TakeReads takes the first of the futures, which are the reads of the keys that
// AppendKeys has appended, and returns the others.
func (c *Claims) TakeReads(reads []kv.Future[[]byte]) (rest []kv.Future[[]byte]) {
	for i := range c.reads {
		c.reads[i].owner = reads[i]
	}
	return reads[len(c.reads):]
}
