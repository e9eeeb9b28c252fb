// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"

	"github.com/kazahana-db/kazahana/lease"
)

var _ lease.Enumerator = (*Store)(nil)

// Services implements [lease.Enumerator].
func (s *Store) Services(ctx context.Context, after string, limit int) (ids []string, err error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT service FROM leases WHERE service > ? ORDER BY service LIMIT ?", after, limit)
	if err != nil {
		return nil, failure(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, failure(err)
		}
		ids = append(ids, id)
	}
	return ids, failure(rows.Err())
}
