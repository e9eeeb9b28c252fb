// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Desk is the help desk of one tenant. Its stores reach no other tenant's records.
type Desk struct {
	registry *Registry
	tenant   *records.Tenant
	tickets  *records.TicketStore
	comments *records.CommentStore
	notices  *records.NoticeStore
}

func newDesk(r *Registry, t *records.Tenant) *Desk {
	dir := t.ID.String() // not the name: another tenant may have it one day
	return &Desk{
		registry: r,
		tenant:   t,
		tickets:  records.TicketStoreOf(r.db, dir),
		comments: records.CommentStoreOf(r.db, dir),
		notices:  records.NoticeStoreOf(r.db, dir),
	}
}

// Tenant returns the name of the tenant.
func (d *Desk) Tenant() string { return d.tenant.Name }

// transact runs fn in a transaction that commits only while the tenant has the key with
// which this desk was opened.
func (d *Desk) transact(ctx context.Context, fn func(tx persistable.Tx) error) error {
	return d.registry.db.Transact(ctx, func(tx persistable.Tx) error {
		t, err := d.registry.tenants.In(tx).Get(ctx, d.tenant.ID)
		if errors.Is(err, persistable.ErrNotFound) {
			return ErrBadKey
		} else if err != nil {
			return err
		}
		if !bytes.Equal(t.KeyHash, d.tenant.KeyHash) {
			return ErrBadKey
		}
		return fn(tx)
	})
}

// Create stores a new ticket and returns it. The ID is made before the transaction, so that
// a retry makes no second ticket.
func (d *Desk) Create(ctx context.Context, literal records.Ticket) (*records.Ticket, error) {
	literal.CreatedAt = time.Now()
	t := d.tickets.New(literal)
	err := d.transact(ctx, func(tx persistable.Tx) error { return d.tickets.In(tx).Create(ctx, t) })
	if err != nil {
		return nil, err
	}
	return d.Ticket(ctx, t.ID) // with its version, which the commit has made
}

// Ticket returns a ticket, or [persistable.ErrNotFound].
func (d *Desk) Ticket(ctx context.Context, id idgen.ID) (*records.Ticket, error) {
	return d.tickets.Get(ctx, id)
}
