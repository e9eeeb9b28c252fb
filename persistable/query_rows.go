// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// yieldRows yields a batch of entries, each an *erased.Row, and reports whether the
// query goes on.
func (q *query) yieldRows(ix *index.Index, r *scan.Range, pairs []kv.KeyValue, c *cursor, yield func(any, error) bool) bool {
	rows := make([]erased.Row, len(pairs))
	for i, pair := range pairs {
		e, err := splitEntry(ix, pair)
		if err != nil {
			yield(nil, q.record.indexError(err))
			return false
		}
		suffix := r.Suffix(pair.Key)
		rows[i] = erased.Row{ID: e.id, Values: suffix, Cover: e.fields}
		if !ix.Unique {
			rows[i].Values = suffix[:len(suffix)-len(e.id)]
		}
		c.moveBehind(r.Position(pair.Key))
		if !yield(&rows[i], nil) || c.done {
			return false
		}
	}
	return true
}

// damagedRow is the error of an entry that cannot be read.
func (q *query) damagedRow(err error) error {
	return q.damagedGroup(q.plan.Index, nil, err)
}
