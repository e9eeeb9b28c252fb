// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Change changes a ticket that still has the version that the caller has seen, and
// returns it. If it has another one, the error is [persistable.ErrChanged], unless the
// ticket is already as the patch wants it: so a caller that lost the answer may repeat the
// call. Without a version (nil) it changes the ticket in any case.
func (d *Desk) Change(ctx context.Context, id idgen.ID, seen *persistable.Version, p Patch) (*records.Ticket, error) {
	err := d.transact(ctx, func(tx persistable.Tx) error {
		t, err := d.tickets.In(tx).Get(ctx, id)
		if err != nil || !p.apply(t) {
			return err
		}
		if seen == nil {
			return d.tickets.In(tx).Save(ctx, t)
		}
		return d.tickets.In(tx).SaveIfVersion(ctx, *seen, t)
	})
	if err != nil {
		return nil, err
	}
	return d.Ticket(ctx, id)
}
