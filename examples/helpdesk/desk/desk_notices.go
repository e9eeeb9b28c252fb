// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Notices returns a page of what requesters are to be told.
func (d *Desk) Notices(ctx context.Context, limit int, token string) (persistable.Page[*records.Notice], error) {
	return d.notices.ByDelivered(false).Limit(limit).Page(ctx, token)
}

// Delivered notes that the requester of a ticket was told of a status. If it has another
// one by now, the notice stays, and the error is [persistable.ErrChanged].
func (d *Desk) Delivered(ctx context.Context, ticket idgen.ID, status records.Status) error {
	return d.transact(ctx, func(tx persistable.Tx) error {
		return d.notices.In(tx).Update(ctx, ticket, func(n *records.Notice) error {
			if n.Status != status {
				return persistable.ErrChanged
			}
			n.Delivered = true
			return nil
		})
	})
}
