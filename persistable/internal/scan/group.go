// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// Group is one record as it lies in the database: its first value and its
// chunks, which are neighbours.
type Group struct {
	ID, Key, Value []byte
	Chunks         []kv.KeyValue // in the order of the scan
	Astray         bool          // in another shard than that of its id
}

// IndexRecord returns what index entries need of the record.
func (g *Group) IndexRecord() index.Record {
	r := index.Record{ID: g.ID}
	if len(g.Chunks) == 0 {
		r.Value = g.Value
	}
	return r
}

// Size returns the number of bytes of the record's values.
func (g *Group) Size() int {
	n := len(g.Value)
	for _, chunk := range g.Chunks {
		n += len(chunk.Value)
	}
	return n
}

// Join returns the payload with those of the chunks behind it.
func (g *Group) Join(payload []byte, reverse bool) []byte {
	if reverse {
		slices.Reverse(g.Chunks)
	}
	whole := slices.Clone(payload)
	for _, chunk := range g.Chunks {
		whole = append(whole, chunk.Value...)
	}
	return whole
}
