// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"

	"github.com/kazahana-db/kazahana/index"
)

// A recount is an index that counts anew what a readable index of the kinds count or sum
// counts (see [index.Definition.Recount]). It is there only while the other one is
// readable in the same layout: so a program that maintains the one can maintain the other.

// AddRecount adds the recount of an index in the state disabled, if the index is readable
// and has none.
func (c *Catalog) AddRecount(d *index.Definition) {
	r := d.Recount()
	has := slices.ContainsFunc(c.indexes, func(ix catalogIndex) bool { return ix.name == r.KeyName() })
	if c.State(d) == index.Readable && !has {
		c.SetState(r, index.Disabled)
	}
}

// RemoveRecount removes the recount of an index, if there is one.
func (c *Catalog) RemoveRecount(d *index.Definition) {
	name := d.Recount().KeyName()
	c.indexes = slices.DeleteFunc(c.indexes, func(ix catalogIndex) bool { return ix.name == name })
}

// LostRecounts returns the names in keys of the recounts that c has and next has not.
func (c *Catalog) LostRecounts(next *Catalog) (names []string) {
	for _, ix := range c.indexes {
		_, recounts := index.CutRecount(ix.name)
		if recounts && !slices.ContainsFunc(next.indexes, func(o catalogIndex) bool { return o.name == ix.name }) {
			names = append(names, ix.name)
		}
	}
	return names
}
