// SPDX-License-Identifier: Apache-2.0

package format

import (
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/index"
)

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

// Describes reports whether the two headers describe the same: schema and indexes, in
// whatever states, but for recounts.
func (c *Catalog) Describes(o *Catalog) bool {
	same := func(a, b IndexEntry) bool { return a.KeyName == b.KeyName && a.Layout == b.Layout }
	return c.schema.Text() == o.schema.Text() && slices.EqualFunc(c.Indexes(), o.Indexes(), same)
}

// IndexEntry is what a header says of an index.
type IndexEntry struct {
	KeyName, Layout string
	State           index.State
}

// Indexes returns what the header says of indexes but recounts, in the order of their
// names.
func (c *Catalog) Indexes() (all []IndexEntry) {
	for _, ix := range c.indexes {
		if _, recounts := index.CutRecount(ix.name); !recounts {
			all = append(all, IndexEntry{ix.name, ix.layout, ix.state})
		}
	}
	return all
}

// All returns what the header says of all indexes, recounts included, in the order of
// their names.
func (c *Catalog) All() (all []IndexEntry) {
	for _, ix := range c.indexes {
		all = append(all, IndexEntry{ix.name, ix.layout, ix.state})
	}
	return all
}
