// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"

	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// cursor is how far a query has come.
type cursor struct {
	limit    int    // how many more records may come; 0: no limit
	done     bool   // the limit is reached
	position []byte // the last key without prefix and shard; nil at the start
	plan     *plan  // with which the query is read; nil at the start
	looked   int    // how many records a plan that drops some has looked at
}

// moveBehind moves the cursor behind a key.
func (c *cursor) moveBehind(position []byte) {
	c.position = position
	if c.limit > 0 {
		c.limit--
		c.done = c.limit == 0
	}
}

// emitAll yields records and moves the cursor behind each. It reports whether the
// query goes on.
func (c *cursor) emitAll(r *scan.Range, groups []scan.Group, yield func(scan.Group, error) bool) bool {
	for _, g := range groups {
		position := r.Position(g.Key)
		if !r.Options.Reverse {
			position = append(slices.Clone(position), 0xff) // behind the chunks
		}
		c.moveBehind(position)
		if !yield(g, nil) || c.done {
			return false
		}
	}
	return true
}
