// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Comment stores a comment and opens its ticket again, both or neither. Without such a
// ticket the error is [persistable.ErrNotFound].
func (d *Desk) Comment(ctx context.Context, ticket idgen.ID, author, text string) (*records.Comment, error) {
	c := d.comments.New(records.Comment{Ticket: ticket, Author: author, Text: text, CreatedAt: time.Now()})
	err := d.transact(ctx, func(tx persistable.Tx) error {
		reopen := func(t *records.Ticket) error {
			t.Status = records.Open
			return nil
		}
		if err := d.tickets.In(tx).Update(ctx, ticket, reopen); err != nil {
			return err
		}
		return d.comments.In(tx).Create(ctx, c)
	})
	return c, err
}

// Comments returns a page of a ticket's comments, the oldest first.
func (d *Desk) Comments(ctx context.Context, ticket idgen.ID, limit int, token string) (persistable.Page[*records.Comment], error) {
	if exists, err := d.tickets.Exists(ctx, ticket); err != nil || !exists {
		return persistable.Page[*records.Comment]{}, notFound(err)
	}
	return d.comments.ByTicket(ticket).Limit(limit).Page(ctx, token)
}

func notFound(err error) error {
	if err != nil {
		return err
	}
	return persistable.ErrNotFound
}
