// SPDX-License-Identifier: Apache-2.0

// Package desk is the help desk without HTTP: the registry of its tenants, and what one
// tenant does with its tickets.
//
//	registry := desk.NewRegistry(db)
//	key, err := registry.Add(ctx, "acme")         // the key is shown once
//	acme, err := registry.Authenticate(ctx, key)  // a *desk.Desk
//	t, err := acme.Create(ctx, records.Ticket{Subject: "…", Requester: "ada@example.com"})
//	t, err = acme.Change(ctx, t.ID, t.Version, desk.Patch{Status: &closed})
//
// Each function that writes is one transaction, which also reads the tenant's entry in
// the registry: after the tenant is removed, or its key is replaced, it writes nothing.
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
	return d.versioned(ctx, t, err)
}

// versioned returns a ticket that was written, with the version that the commit has given it. It
// reads the ticket only if the acknowledgement of the commit was lost, and the version with it.
func (d *Desk) versioned(ctx context.Context, t *records.Ticket, err error) (*records.Ticket, error) {
	if err == nil && t.Version.IsZero() {
		return d.Ticket(ctx, t.ID)
	}
	return t, err
}

// Ticket returns a ticket, or [persistable.ErrNotFound].
func (d *Desk) Ticket(ctx context.Context, id idgen.ID) (*records.Ticket, error) {
	return d.tickets.Get(ctx, id)
}

// TicketPage is a part of a list of tickets, and the token of the next part.
type TicketPage = persistable.Page[*records.Ticket]

// List returns a page of the tickets with a status, the newest first.
func (d *Desk) List(ctx context.Context, status records.Status, limit int, token string) (TicketPage, error) {
	return d.tickets.ByStatusCreatedAt(status).Reverse().Limit(limit).Page(ctx, token)
}

// Queue returns a page of the open tickets: the most urgent first, and of these the oldest.
func (d *Desk) Queue(ctx context.Context, limit int, token string) (TicketPage, error) {
	return d.tickets.OrderedByPriorityCreatedAtWhereQueue().Limit(limit).Page(ctx, token)
}

// Search says which tickets to find: those that fulfil all of its conditions.
type Search struct {
	Words     []string // that the subject has
	Requester string   // "" for any
	Status    *records.Status
}

// Find returns a page of the tickets that a search finds. If it would have to read too many,
// the error is a [persistable.ErrFilterLimit].
func (d *Desk) Find(ctx context.Context, s Search, limit int, token string) (TicketPage, error) {
	q, err := d.tickets.Find(s.conditions()...)
	if err != nil {
		return TicketPage{}, err
	}
	return q.Reverse().Limit(limit).Page(ctx, token)
}

func (s Search) conditions() (all []persistable.Condition[*records.Ticket]) {
	for _, word := range s.Words {
		all = append(all, records.TicketFields.Words.Equal(word))
	}
	if s.Requester != "" {
		all = append(all, records.TicketFields.Requester.Equal(s.Requester))
	}
	if s.Status != nil {
		all = append(all, records.TicketFields.Status.Equal(*s.Status))
	}
	return all
}

// Counts returns the number of tickets of each status. It reads a counter for each, not
// the tickets.
func (d *Desk) Counts(ctx context.Context) (map[records.Status]int64, error) {
	counts := map[records.Status]int64{}
	for _, status := range records.Statuses() {
		counts[status] = 0
	}
	for group, err := range d.tickets.CountsByStatus(ctx) {
		if err != nil {
			return nil, err
		}
		counts[group.Group] = group.Count
	}
	return counts, nil
}

// Change changes a ticket that still has the version that the caller has seen, and
// returns it. If it has another one, the error is [persistable.ErrChanged], unless the
// ticket is already as the patch wants it: so a caller that lost the answer may repeat the
// call. Without a version (nil) it changes the ticket in any case.
func (d *Desk) Change(ctx context.Context, id idgen.ID, seen *persistable.Version, p Patch) (*records.Ticket, error) {
	var t *records.Ticket
	err := d.transact(ctx, func(tx persistable.Tx) (err error) {
		t, err = d.tickets.In(tx).Get(ctx, id)
		if err != nil || !p.apply(t) {
			return err
		}
		if seen == nil {
			return d.tickets.In(tx).Save(ctx, t)
		}
		return d.tickets.In(tx).SaveIfVersion(ctx, *seen, t)
	})
	return d.versioned(ctx, t, err)
}

// Patch is a change of a ticket: the fields that are not nil.
type Patch struct {
	Subject  *string           `json:"subject"`
	Body     *string           `json:"body"`
	Status   *records.Status   `json:"status"`
	Priority *records.Priority `json:"priority"`
}

// apply changes the ticket, and reports whether it was different before.
func (p Patch) apply(t *records.Ticket) bool {
	a, b := set(&t.Subject, p.Subject), set(&t.Body, p.Body)
	c, d := set(&t.Status, p.Status), set(&t.Priority, p.Priority)
	return a || b || c || d
}

func set[T comparable](field, value *T) bool {
	if value == nil || *field == *value {
		return false
	}
	*field = *value
	return true
}

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
