// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"

	"github.com/kazahana-db/kazahana/codegen/internal/model"
)

// rankLevels is how many levels of a rank a write looks at, each with a range of its own.
const rankLevels = 5

// recordWrites are how many keys the writes of a record read and write.
type recordWrites struct {
	create, change, remove count // keys written; change is the most
	unique                 count // the record's key and its unique keys
	ranks                  int
}

func newRecordWrites(r *model.Record) recordWrites {
	c := recordWrites{create: newCount(1), change: newCount(1), remove: newCount(1), unique: newCount(1)}
	for _, d := range r.Indexes {
		writes := writesOf[d.Kind]
		c.create.add(d, writes.create)
		c.change.add(d, writes.change)
		c.remove.add(d, writes.remove)
		if d.Unique {
			c.unique.add(d, 1)
		}
		if d.Kind == model.Rank {
			c.ranks++
		}
	}
	return c
}

// methods lists the methods that write. A write of a rank reads its element, and its
// neighbours on all levels.
func (c recordWrites) methods() []methodCost {
	key, rounds := "the record's key", "1"
	keys := key
	if c.unique.String() != "1" {
		keys += " and its unique keys"
	}
	if c.ranks > 0 {
		rounds, key, keys = "2", key+" and its neighbours by rank", keys+" and its neighbours by rank"
	}
	ranges := fmt.Sprint(rankLevels * c.ranks)
	create := []string{rounds, c.unique.plus(c.ranks).String(), ranges, c.create.String(), keys}
	return []methodCost{
		{"Create", create[0], create[1], create[2], create[3], create[4]},
		{"CreateWithID", create[0], create[1], create[2], create[3], create[4]},
		{
			"Save", span("1", rounds), span(c.unique.String(), c.unique.plus(2*c.ranks).String()),
			span("0", fmt.Sprint(2*rankLevels*c.ranks)), "1 to " + c.change.String(), keys,
		},
		{"Delete", rounds, fmt.Sprint(1 + c.ranks), ranges, c.remove.String(), key},
	}
}

// span writes a number, or the least and the greatest.
func span(least, most string) string {
	if least == most {
		return least
	}
	return least + " to " + most
}
