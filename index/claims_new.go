// SPDX-License-Identifier: Apache-2.0

package index

import "github.com/kazahana-db/kazahana/kv"

// StartNew is Start for a record whose stored form is known. It leaves out the keys
// that the stored form has, too, where the index is readable: then they are the
// record's own. stored may be nil.
func (c *Claims) StartNew(tx kv.ReadTransaction, indexes []Index, entries, stored *Set) {
	c.reads = c.reads[:0]
	for i := range indexes {
		ix := &indexes[i]
		if !ix.Unique || ix.State == Disabled {
			continue
		}
		for n := range entries.Keys(i) {
			key := entries.Key(i, n)
			if ix.State == Readable && stored != nil && stored.Has(i, key) {
				continue
			}
			c.reads = append(c.reads, claim{i, n, tx.Get(key)})
		}
	}
}
