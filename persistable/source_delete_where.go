// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
)

// deleteMany deletes the records with these packed ids.
func (s source) deleteMany(ctx context.Context, ids [][]byte, o BatchOptions) (err error) {
	ctx, op := s.begin(ctx, "DeleteMany", byID)
	defer op.finish(&err)
	m, err := newBatcher(&s, o)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		if err := m.deleteIDs(ctx, ids); err != nil {
			return err
		}
		ids = ids[m.taken:]
	}
	return nil
}

// deleteWhere deletes the records of a query.
func (s source) deleteWhere(ctx context.Context, q *query, o BatchOptions) (n int, err error) {
	ctx, op := s.begin(ctx, "DeleteWhere", byID)
	defer op.finish(&err)
	return s.deleteInBatches(ctx, q, o)
}

func (s source) deleteInBatches(ctx context.Context, q *query, o BatchOptions) (int, error) {
	m, err := newBatcher(&s, o)
	if err != nil {
		return 0, err
	}
	if err := q.checkUsable(); err != nil {
		return 0, err
	}
	if q.place != s.place {
		return 0, fmt.Errorf("persistable: %s: DeleteWhere: the query is of another store", s.record.Type)
	}
	q.tx = nil // the reads are those of the deletion's transactions
	d := deletion{batcher: m, q: q, from: cursor{limit: q.limit}}
	for !d.ended {
		if err := d.deleteSome(ctx); err != nil {
			return d.done, err
		}
	}
	return d.done, nil
}
