// SPDX-License-Identifier: Apache-2.0

package format

import "iter"

// Layouts yields the names in keys and the layouts of all indexes that the store has,
// in the order of their names.
func (c *Catalog) Layouts() iter.Seq2[string, string] {
	return func(yield func(name, layout string) bool) {
		for _, ix := range c.indexes {
			if !yield(ix.name, ix.layout) {
				return
			}
		}
	}
}
