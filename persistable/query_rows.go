// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// yieldRows yields a batch of entries, each as row, and reports whether the query goes
// on.
func (q *query) yieldRows(ix *index.Index, r *scan.Range, pairs []kv.KeyValue, row *erased.Row, c *cursor, yield func(any, error) bool) bool {
	row.Strings.Expect(sizeOfValues(pairs))
	for _, pair := range pairs {
		row.Values, row.Cover = r.Suffix(pair.Key), pair.Value
		if ix.Unique {
			var err error
			if row.ID, row.Cover, err = index.SplitUnique(ix.Definition, pair.Key, pair.Value); err != nil {
				yield(nil, q.record.indexError(err))
				return false
			}
		}
		c.moveBehind(r.Position(pair.Key))
		if !yield(row, nil) || c.done {
			return false
		}
	}
	return true
}

func sizeOfValues(pairs []kv.KeyValue) (size int) {
	for i := range pairs {
		size += len(pairs[i].Value)
	}
	return size
}

// damagedRow is the error of an entry that cannot be read.
func (q *query) damagedRow(err error) error {
	return q.damagedGroup(q.plan.Index, nil, err)
}
