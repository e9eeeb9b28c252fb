// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

type change = persistable.Change[*records.Ticket, idgen.ID]

// follower writes notices for one tenant, from the changes of its tickets.
type follower struct {
	consumer *persistable.Consumer[*records.Ticket, idgen.ID]
	notices  *records.NoticeStore
}

func newFollower(db *persistable.DB, tenant string) *follower {
	return &follower{
		consumer: records.TicketStoreOf(db, tenant).Feed().Consumer("notices"),
		notices:  records.NoticeStoreOf(db, tenant),
	}
}

// run follows the changes until ctx ends.
func (f *follower) run(ctx context.Context) error { return f.consumer.Run(ctx, f.writer(ctx)) }

// catchUp follows the changes up to the present.
func (f *follower) catchUp(ctx context.Context) error {
	for {
		if n, err := f.consumer.Next(ctx, f.writer(ctx)); n == 0 || err != nil {
			return err
		}
	}
}

// writer returns the function that writes notices in the transaction that moves the
// consumer's position: each change counts exactly once, whatever crashes.
func (f *follower) writer(ctx context.Context) func(persistable.Tx, []change) error {
	return func(tx persistable.Tx, changes []change) error {
		for _, c := range changes {
			if err := f.note(ctx, f.notices.In(tx), c); err != nil {
				return err
			}
		}
		return nil
	}
}

// note writes the notice of a ticket, if its status is another one than that of the last notice.
func (f *follower) note(ctx context.Context, notices *records.NoticeStore, c change) error {
	if c.Deleted {
		return nil
	}
	t := c.Record
	last, err := notices.Get(ctx, t.ID)
	if err == nil && last.Status == t.Status {
		return nil
	}
	if err != nil && !errors.Is(err, persistable.ErrNotFound) {
		return err
	}
	return notices.Save(ctx, &records.Notice{ID: t.ID, Tenant: t.Tenant, Requester: t.Requester, Subject: t.Subject, Status: t.Status})
}
